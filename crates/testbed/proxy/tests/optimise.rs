//! Optimising proxies between real sockets on the loopback device: nothing is changed, and what is said to be saved is.

mod lab;

use airperf_proxy::optimise::{Compression, Halves, Path, Repair, Role};
use lab::{Browser, Proxy, SINGLE, field, halves, object, options, reach, site};
use std::io::{Read, Write};

const PATHS: [&str; 6] = ["/page", "/style.css", "/text/500", "/image/20000", "/version/1", "/text/0"];

fn load(proxy: &Proxy) {
    let mut browser = proxy.browse();
    for path in PATHS {
        let (status, body) = browser.get(&format!("http://a.test{path}"));
        assert_eq!(status, 200, "{path}");
        assert!(body == object(path).unwrap().1, "{path} has {} octets", body.len());
    }
    for n in 0..8 {
        let path = format!("/image/{}", 3_000 + n);
        assert!(browser.get(&format!("http://b.test{path}")).1 == object(&path).unwrap().1, "{path}");
    }
}

#[test]
fn bodies_come_unchanged_through_every_combination_of_switches() {
    let (site, _) = site();
    let server = Proxy::server(site);
    let mut proxies = Vec::new();
    let ways = [None, Some(Compression::Gzip), Some(Compression::Brotli), Some(Compression::Zstd)];
    for compress in ways {
        for bits in 0..16u8 {
            let on = |bit: u8| bits & 1 << bit != 0;
            let datagrams = on(3).then_some(Repair::Adaptive);
            let (cache, delta, push) = (on(0), on(1), on(2));
            let half = Halves { compress, cache, delta, push, datagrams, ..halves(server.address) };
            let mut options = options(Role::Client(half), reach(site));
            options.path = Some(Path { rate_bps: 200_000_000, rtt_ms: 10 });
            options.adapt_tcp = on(0);
            options.connections = 1 + u32::from(bits % 3);
            proxies.push((Proxy::start(options), cache));
        }
    }
    proxies.push((Proxy::start(options(SINGLE, reach(site))), false));
    for (proxy, _) in &proxies {
        load(proxy);
        load(proxy);
        proxy.stop();
    }
    for (proxy, cache) in proxies {
        let counts = proxy.end().counts;
        assert_eq!((counts.refused, counts.failed, counts.cut_short), (0, 0, 0), "{counts:?}");
        assert_eq!(counts.replies, 28);
        assert!(!cache || counts.same >= 5, "{counts:?}");
    }
}

/// Octets that the client half takes from the link for these URLs, the second time.
fn second_time(server: &Proxy, urls: &[&str], change: impl FnOnce(&mut Halves)) -> u64 {
    let proxy = Proxy::client(server, change);
    let mut browser = proxy.browse();
    let mut load = || urls.iter().for_each(|url| assert_eq!(browser.get(url).0, 200));
    load();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let first = proxy.now().counts.link_received_bytes;
    load();
    drop(browser);
    proxy.end().counts.link_received_bytes - first
}

#[test]
fn each_way_of_writing_bodies_takes_octets_off_the_link() {
    let (site, _) = site();
    let server = Proxy::server(site);
    let text = object("/text/1000").unwrap().1.len() as u64;
    let urls = ["http://a.test/text/1000"];
    let plain = second_time(&server, &urls, |_| {});
    assert!(plain > text && plain < text + text / 20 + 200, "{plain} for {text}");
    for how in [Compression::Gzip, Compression::Brotli, Compression::Zstd] {
        let packed = second_time(&server, &urls, |half| half.compress = Some(how));
        assert!(packed < plain / 4, "{how:?}: {packed} of {plain}");
    }
    let same = second_time(&server, &urls, |half| half.cache = true);
    assert!(same < 200, "{same}: a hash and a head");
    // The same content at another place is not sent again either.
    let elsewhere = second_time(&server, &["http://a.test/text/1000", "http://c.test/text/1000"], |half| {
        half.cache = true;
    });
    assert!(elsewhere < 300, "{elsewhere}");
    let changed = ["http://a.test/counted"];
    let packed = second_time(&server, &changed, |half| half.compress = Some(Compression::Zstd));
    let delta = second_time(&server, &changed, |half| {
        (half.compress, half.delta) = (Some(Compression::Zstd), true);
    });
    assert!(delta < packed && delta < 250, "{delta} of {packed}");
}

#[test]
fn heads_shrink_when_they_were_sent_before() {
    let (site, _) = site();
    let server = Proxy::server(site);
    let proxy = Proxy::client(&server, |_| {});
    let mut browser = proxy.browse();
    let long = format!(
        "User-Agent: {}\r\nAccept: {}",
        "Mozilla/5.0 (X11; Linux) ".repeat(6),
        "text/html, ".repeat(9)
    );
    for n in 0..20 {
        browser.send(&format!("GET http://a.test/text/{n} HTTP/1.1\r\nHost: a.test\r\n{long}\r\n\r\n"));
        assert_eq!(browser.reply().0, 200);
    }
    drop(browser);
    let counts = proxy.end().counts;
    let each = (counts.link_sent_bytes - 400) / 20;
    assert!(each < 60, "{each} octets for each request of {}", long.len() + 60);
}

#[test]
fn all_requests_go_at_once_and_the_link_is_one_connection() {
    let (site, seen) = site();
    let server = Proxy::server(site);
    let mut options = options(Role::Client(halves(server.address)), reach(site));
    options.connections = 1;
    let proxy = Proxy::start(options);
    let mut browsers: Vec<_> = (0..12).map(|_| proxy.browse()).collect();
    for (n, browser) in browsers.iter_mut().enumerate() {
        browser.ask(&format!("http://a.test/image/{}", 1_000 + n));
    }
    for (n, browser) in browsers.iter_mut().enumerate() {
        assert!(browser.reply().2 == object(&format!("/image/{}", 1_000 + n)).unwrap().1);
    }
    drop(browsers);
    let counts = proxy.end().counts;
    assert_eq!((counts.connections, counts.link_connections, counts.link_requests), (12, 1, 12));
    let opened = seen.connections.load(std::sync::atomic::Ordering::SeqCst);
    assert!(opened <= 4, "{opened} connections to the origin");
}

#[test]
fn requests_that_a_browser_pipelines_are_answered_in_order() {
    let (site, _) = site();
    let server = Proxy::server(site);
    let alone = Role::Single { compress: Some(Compression::Gzip), cache: true };
    for proxy in [Proxy::start(options(alone, reach(site))), Proxy::client(&server, |_| {})] {
        let mut browser = proxy.browse();
        let all: String =
            (1..9).map(|n| format!("GET http://a.test/text/{n} HTTP/1.1\r\nHost: a.test\r\n\r\n")).collect();
        browser.send(&all);
        for n in 1..9 {
            assert!(browser.reply().2 == lab::text(n));
        }
    }
}

#[test]
fn what_belongs_to_a_page_is_pushed_and_not_asked_for_over_the_link() {
    let (site, seen) = site();
    let server = Proxy::server(site);
    let proxy = Proxy::client(&server, |half| half.push = true);
    let mut browser = proxy.browse();
    assert!(browser.get("http://a.test/page").1 == lab::page());
    for n in 0..7 {
        let path = format!("/image/{}", 3_000 + n);
        assert!(browser.get(&format!("http://b.test{path}")).1 == object(&path).unwrap().1);
    }
    assert!(browser.get("http://a.test/style.css").1 == object("/style.css").unwrap().1);
    // One of nine is not asked for; one is asked for by somebody in particular.
    browser.send("GET http://b.test/image/3007 HTTP/1.1\r\nHost: b.test\r\nCookie: me\r\n\r\n");
    assert_eq!(browser.reply().0, 200);
    drop(browser);
    let counts = proxy.end().counts;
    assert_eq!((counts.pushes, counts.pushes_used, counts.pushes_wasted), (9, 8, 1), "{counts:?}");
    assert_eq!(counts.pushes_wasted_bytes, 3_007);
    // The page, the one with a cookie, and a word for each that was asked for while it was still on its way.
    assert!(counts.link_requests <= 2 + 8, "{counts:?}");
    assert_eq!(seen.asked("/image/3007"), 2);
    assert_eq!(seen.asked("/image/3001"), 1);
}

#[test]
fn names_are_looked_up_at_the_server_half_only() {
    let (site, _) = site();
    let port = site.port();
    let url = format!("http://localhost:{port}/text/3");
    for (names_there, here) in [(true, 0), (false, 1)] {
        let server = Proxy::server(site);
        let proxy = Proxy::client(&server, |half| half.names_there = names_there);
        let mut browser = proxy.browse();
        for _ in 0..3 {
            assert_eq!(browser.get(&url).0, 200);
        }
        drop(browser);
        assert_eq!(proxy.end().counts.look_ups, here);
        assert_eq!(server.end().counts.look_ups, 1 - here);
    }
}

#[test]
fn bodies_of_requests_heads_and_replies_without_bodies_pass() {
    let (site, _) = site();
    let server = Proxy::server(site);
    let cached = Proxy::client(&server, |half| {
        (half.cache, half.delta, half.compress) = (true, true, Some(Compression::Gzip));
    });
    for proxy in [Proxy::start(options(SINGLE, reach(site))), cached] {
        let mut browser = proxy.browse();
        let body = "x".repeat(50_000);
        browser.send(&format!(
            "POST http://a.test/echo HTTP/1.1\r\nHost: a.test\r\nContent-Length: 50000\r\n\r\n{body}"
        ));
        assert!(browser.reply().2 == body.as_bytes());
        browser.send("POST http://a.test/echo HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n");
        assert_eq!(browser.reply().2, b"abc");
        assert_eq!(browser.get("http://a.test/chunked").1, b"abcde");
        assert_eq!(browser.get("http://a.test/none"), (404, b"none".to_vec()));
        browser.send("HEAD http://a.test/text/100 HTTP/1.1\r\nHost: a.test\r\n\r\n");
        let head = lab::read_head(&mut browser.0).unwrap();
        assert_eq!(field(&head, "content-length"), Some(lab::text(100).len().to_string()), "{head}");
        assert_eq!(field(&head, "x-hop"), None);
        browser
            .send("GET http://a.test/not-modified HTTP/1.1\r\nHost: a.test\r\nIf-None-Match: \"x\"\r\n\r\n");
        let head = lab::read_head(&mut browser.0).unwrap();
        assert!(head.starts_with("HTTP/1.1 304") && field(&head, "etag").is_some(), "{head}");
        let large = browser.get("http://a.test/image/6000000").1;
        assert!(large == lab::noise(6_000_000));
    }
}

#[test]
fn tunnels_pass_unread_both_ways() {
    let (site, _) = site();
    let server = Proxy::server(site);
    for proxy in [Proxy::start(options(SINGLE, reach(site))), Proxy::client(&server, |_| {})] {
        let mut browser = proxy.browse();
        browser.send(&format!("CONNECT {site} HTTP/1.1\r\nHost: {site}\r\n\r\n"));
        let head = lab::read_head(&mut browser.0).unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert_eq!(field(&head, "content-length"), None);
        for n in [3, 30_000] {
            browser.send(&format!("GET /image/{n} HTTP/1.1\r\nHost: a.test\r\n\r\n"));
            assert!(browser.reply().2 == lab::noise(n));
        }
        drop(browser);
        assert_eq!(proxy.end().counts.tunnels, 1);
    }
}

#[test]
fn fault_37_what_is_not_the_labs_or_has_two_readings_is_refused() {
    let (site, seen) = site();
    let server = Proxy::server(site);
    for proxy in [Proxy::start(options(SINGLE, reach(site))), Proxy::client(&server, |_| {})] {
        let own = proxy.address;
        let peer = server.address;
        for (text, status) in [
            ("GET http://198.51.100.7/ HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 403),
            ("CONNECT 198.51.100.7:443 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), 403),
            ("GET /page HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(), 400),
            ("GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n".to_owned(), 400),
            ("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd".to_owned(), 400),
            ("POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n".to_owned(), 400),
            ("GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n".to_owned(), 400),
            (format!("GET http://{own}/ HTTP/1.1\r\nHost: x\r\n\r\n"), if own == peer { 403 } else { 0 }),
        ] {
            if status == 0 {
                continue;
            }
            let mut browser = Browser::at(own);
            browser.send(&text);
            // What is no HTTP may find the connection closed, and the reply lost with it.
            let said = lab::read_head(&mut browser.0).map_or(400, |head| head[9..12].parse().unwrap());
            assert_eq!(said, status, "{text}");
        }
    }
    let single = Proxy::start(options(SINGLE, reach(site)));
    let itself = format!("http://{}/", single.address);
    assert_eq!(single.browse().get(&itself).0, 403, "it would pass requests to itself");
    assert!(seen.heads.lock().unwrap().is_empty());
}

#[test]
fn fault_37_a_request_framed_twice_reaches_the_origin_framed_once() {
    let (site, seen) = site();
    let server = Proxy::server(site);
    for proxy in [Proxy::start(options(SINGLE, reach(site))), Proxy::client(&server, |_| {})] {
        let fields = [
            "Content-Length: 4\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: chunked\r\nContent-Length: 4",
        ];
        for fields in fields {
            let mut browser = proxy.browse();
            let hidden = "5\r\nabcde\r\n0\r\n\r\n";
            browser.send(&format!(
                "POST http://a.test/echo HTTP/1.1\r\nHost: a.test\r\n{fields}\r\n\r\n{hidden}"
            ));
            let (status, _, body) = browser.reply();
            assert!(status == 400 || body == b"abcde", "{status}");
        }
    }
    for head in &*seen.heads.lock().unwrap() {
        assert!(
            field(head, "content-length").is_none() || field(head, "transfer-encoding").is_none(),
            "{head}"
        );
    }
}

#[test]
fn fault_a_link_that_speaks_nonsense_or_breaks_ends_without_harm() {
    let (site, _) = site();
    let server = Proxy::server(site);
    for nonsense in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"AIRPERF-LINK/1 {}\n", &[b'x'; 5_000]] {
        let mut stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.write_all(nonsense).unwrap();
        stream.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        let _ = stream.read_to_end(&mut Vec::new()); // closed or reset, at once
    }
    // The greeting is right and the rest is noise.
    let wants = r#"{"session":1,"compress":null,"cache":true,"delta":true,"push":true,"tcp":null}"#;
    let mut stream = std::net::TcpStream::connect(server.address).unwrap();
    stream.write_all(format!("AIRPERF-LINK/1 {wants}\n").as_bytes()).unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    stream.write_all(&lab::noise(2_000)).unwrap();
    drop(stream);
    // And it still serves.
    let proxy = Proxy::client(&server, |half| half.cache = true);
    assert_eq!(proxy.browse().get("http://a.test/text/9").0, 200);
    // The server half goes and another comes: the client half connects anew; meanwhile it says 502.
    let address = server.address;
    server.end();
    assert_eq!(proxy.browse().get("http://a.test/text/9").0, 502);
    let listener = std::net::TcpListener::bind(address).unwrap();
    let again = options(Role::Server, reach(site));
    std::thread::spawn(move || {
        let mut told = 0;
        let mut tell = |_| {
            told += 1;
            if told > 12 { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
        };
        airperf_proxy::optimise::optimise(listener, None, again, &mut tell).unwrap();
    });
    assert!(proxy.browse().get("http://a.test/text/9").1 == lab::text(9), "what it kept is still good");
}
