//! One proxy between a browser and a site on the loopback device: bodies in the coding that the browser takes, and none that it has.

mod lab;

use airperf_proxy::optimise::{Compression, Counts, Role};
use lab::{Proxy, field, object, options, reach, site, text};
use std::io::{BufRead, Read, Write};
use std::time::{Duration, Instant};

fn start(site: std::net::SocketAddr, compress: Option<Compression>, cache: bool) -> Proxy {
    Proxy::start(options(Role::Single { compress, cache }, reach(site)))
}

fn unpack(coding: &str, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match coding {
        "gzip" => flate2::read::GzDecoder::new(body).read_to_end(&mut plain).unwrap(),
        "br" => brotli::Decompressor::new(body, 4_096).read_to_end(&mut plain).unwrap(),
        "zstd" => zstd::stream::read::Decoder::new(body).unwrap().read_to_end(&mut plain).unwrap(),
        other => panic!("{other}"),
    };
    plain
}

#[test]
fn a_browser_gets_bodies_in_the_coding_that_it_takes() {
    let (site, _) = site();
    let proxies = [Compression::Gzip, Compression::Brotli, Compression::Zstd]
        .map(|how| start(site, Some(how), false))
        .into_iter()
        .chain([start(site, Some(Compression::Zstd), true)]);
    for (proxy, favourite) in proxies.zip(["gzip", "br", "zstd", "zstd"]) {
        let mut browser = proxy.browse();
        // Whole, and as it passes: 860 kB.
        for lines in [1_000, 20_000] {
            for (accepts, coding) in
                [("gzip, deflate, br, zstd", favourite), ("br;q=0.5, gzip;q=0.4", "br"), ("gzip", "gzip")]
            {
                let fields = format!("Accept-Encoding: {accepts}\r\n");
                browser.ask_with(&format!("http://a.test/text/{lines}"), &fields);
                let (status, head, body) = browser.reply();
                assert_eq!((status, field(&head, "content-encoding")), (200, Some(coding.into())), "{head}");
                assert_eq!(field(&head, "vary"), Some("Accept-Encoding".into()));
                assert!(unpack(coding, &body) == text(lines), "{coding} of {lines} lines");
                assert!(body.len() < text(lines).len() / 5, "{} octets of {lines} lines", body.len());
            }
        }
        drop(browser);
        let counts = proxy.end().counts;
        assert_eq!((counts.compressed, counts.replies, counts.cut_short), (6, 6, 0));
        assert_eq!(counts.compressed_plain_bytes as usize, 3 * (text(1_000).len() + text(20_000).len()));
        assert_eq!(counts.compressed_link_bytes, counts.body_bytes);
    }
}

#[test]
fn what_may_not_be_changed_passes_as_it_is() {
    let (site, _) = site();
    for cache in [false, true] {
        let proxy = start(site, Some(Compression::Gzip), cache);
        let mut browser = proxy.browse();
        let gzip = "Accept-Encoding: gzip\r\n";
        for (path, fields, why) in [
            ("/text/500", "", "nobody asked for a coding"),
            ("/text/500", "Accept-Encoding: identity, gzip;q=0\r\n", "it is refused"),
            (
                "/text/500",
                "Accept-Encoding: gzip\r\nCache-Control: no-transform\r\n",
                "the browser forbids it",
            ),
            ("/fixed", gzip, "the origin forbids it"),
            ("/coded", gzip, "it is coded"),
            ("/text/3", gzip, "it is short"),
            ("/image/3000", gzip, "an image is packed"),
            ("/part", "Accept-Encoding: gzip\r\nRange: bytes=0-299\r\n", "a part is of the plain octets"),
        ] {
            browser.ask_with(&format!("http://a.test{path}"), fields);
            let (_, head, body) = browser.reply();
            let plain = match path {
                "/part" => vec![b'x'; 300],
                _ => object(path).map_or(text(500), |(_, body)| body),
            };
            assert!(body == plain, "{path}: {why}");
            assert_eq!(field(&head, "content-encoding"), (path == "/coded").then(|| "x-own".into()), "{why}");
            assert_eq!(field(&head, "content-length"), Some(plain.len().to_string()), "{why}");
        }
        browser.send(&format!("HEAD http://a.test/text/100 HTTP/1.1\r\nHost: a.test\r\n{gzip}\r\n"));
        let head = lab::read_head(&mut browser.0).unwrap();
        assert_eq!(field(&head, "content-length"), Some(text(100).len().to_string()), "{head}");
        assert_eq!(field(&head, "vary"), Some("Accept-Encoding".into()), "a GET would say so, too");
        browser.send("GET http://a.test/not-modified HTTP/1.1\r\nHost: a\r\nAccept-Encoding: gzip\r\n\r\n");
        assert!(lab::read_head(&mut browser.0).unwrap().starts_with("HTTP/1.1 304"));
        drop(browser);
        assert_eq!(proxy.end().counts.compressed, 0);
    }
}

#[test]
fn coded_octets_have_a_weak_tag_by_which_their_origin_still_knows_them() {
    let (site, _) = site();
    let proxy = start(site, Some(Compression::Brotli), false);
    let mut browser = proxy.browse();
    browser.ask_with("http://a.test/tagged", "Accept-Encoding: br\r\n");
    let (_, head, _) = browser.reply();
    assert_eq!(field(&head, "etag"), Some("W/\"x\"".into()));
    for gone in ["content-md5", "accept-ranges"] {
        assert_eq!(field(&head, gone), None, "it is of the plain octets");
    }
    browser.ask_with("http://a.test/tagged", "Accept-Encoding: br\r\nIf-None-Match: W/\"x\"\r\n");
    let (status, head, _) = browser.reply();
    assert_eq!((status, field(&head, "etag")), (304, Some("W/\"x\"".into())), "the tag that it has");
    browser.ask_with("http://a.test/tagged", "If-None-Match: \"x\"\r\n");
    assert_eq!(field(&browser.reply().1, "etag"), Some("\"x\"".into()), "plain octets keep theirs");
}

#[test]
fn what_an_origin_has_sent_does_not_wait_for_what_it_has_not() {
    let (site, _) = site();
    for (how, coding) in
        [(Compression::Gzip, "gzip"), (Compression::Brotli, "br"), (Compression::Zstd, "zstd")]
    {
        let proxy = start(site, Some(how), false);
        let mut browser = proxy.browse();
        let began = Instant::now();
        browser.ask_with("http://a.test/drip", &format!("Accept-Encoding: {coding}\r\n"));
        lab::read_head(&mut browser.0).unwrap();
        // The first chunk holds what can be read of the first line.
        let mut length = String::new();
        browser.0.read_line(&mut length).unwrap();
        let mut octets = vec![0; usize::from_str_radix(length.trim(), 16).unwrap()];
        browser.0.read_exact(&mut octets).unwrap();
        assert!(began.elapsed() < Duration::from_millis(400), "{coding}: {:?}", began.elapsed());
        let mut plain = Vec::new();
        let mut decoder: Box<dyn Write> = match coding {
            "gzip" => Box::new(flate2::write::GzDecoder::new(&mut plain)),
            "br" => Box::new(brotli::DecompressorWriter::new(&mut plain, 64)),
            _ => Box::new(zstd::stream::write::Decoder::new(&mut plain).unwrap()),
        };
        decoder.write_all(&octets).and_then(|()| decoder.flush()).unwrap();
        drop(decoder);
        assert_eq!(String::from_utf8_lossy(&plain), "line\n", "{coding}");
    }
}

fn counts_of(site: std::net::SocketAddr, asks: &[(&str, &str, u16)]) -> Counts {
    let proxy = start(site, None, true);
    for (path, fields, expected) in asks {
        let mut browser = proxy.browse(); // each a user of its own
        browser.ask_with(&format!("http://a.test{path}"), fields);
        let (status, head, body) = browser.reply();
        assert_eq!(status, *expected, "{path} {fields}: {head}");
        assert!(status == 304 || body == text(500), "{path}");
        assert_eq!(field(&head, "content-length").is_some(), status == 200);
    }
    proxy.end().counts
}

#[test]
fn a_browser_is_not_sent_what_it_has_even_if_its_origin_cannot_tell() {
    let (site, _) = site();
    let proxy = start(site, None, true);
    let mut browser = proxy.browse();
    browser.ask("http://a.test/text/500");
    let tag = field(&browser.reply().1, "etag").expect("a tag of its content");
    let fields = format!("If-None-Match: \"other\", {tag}\r\nCookie: me\r\n");
    browser.ask_with("http://a.test/text/500", &fields);
    assert_eq!(browser.reply().0, 304);
    browser.ask_with("http://a.test/counted", "");
    let tag = field(&browser.reply().1, "etag").unwrap();
    browser.ask_with("http://a.test/counted", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!(browser.reply().0, 200, "it has changed");
    drop(browser);
    let counts = proxy.end().counts;
    assert_eq!((counts.same, counts.same_plain_bytes as usize), (1, text(500).len()));
}

#[test]
fn what_one_user_was_sent_the_origin_does_not_send_for_another() {
    let (site, seen) = site();
    let counts = counts_of(
        site,
        &[
            ("/tagged", "", 200),
            ("/tagged", "", 200),
            ("/tagged", "If-None-Match: \"x\"\r\n", 304),
            ("/tagged", "If-None-Match: \"old\"\r\n", 200),
        ],
    );
    assert_eq!((counts.validated, counts.validated_bytes as usize), (3, 3 * text(500).len()));
    assert_eq!((counts.same, counts.origin_requests), (1, 4), "it is asked each time");
    assert_eq!(seen.asked("/tagged"), 4);
}

#[test]
fn fault_what_is_one_users_own_is_not_shown_to_others() {
    let (site, _) = site();
    let own = "Cookie: me\r\n";
    let counts = counts_of(site, &[("/tagged/private", "", 200), ("/tagged/private", "", 200)]);
    assert_eq!(counts.validated, 0, "private");
    let counts = counts_of(site, &[("/tagged", own, 200), ("/tagged", "", 200), ("/tagged", own, 200)]);
    assert_eq!(counts.validated, 0, "asked for with cookies");
    let counts = counts_of(site, &[("/tagged", "Authorization: x\r\n", 200), ("/tagged", "", 200)]);
    assert_eq!(counts.validated, 0, "asked for in somebody's name");
}
