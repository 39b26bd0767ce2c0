//! Proxies that answer TLS in the place of origins: what is encrypted is optimised as all else is, for who trusts them.

mod lab;

use airperf_host::{Authority, believing};
use airperf_proxy::optimise::{Compression, Halves, Options, Role};
use bytes::Bytes;
use lab::{Browser, Proxy, field, file_of, halves, object, options, reach, secret_site};
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;

/// An authority of the site, known to proxies by its file, and one of the proxy.
struct Trust {
    site: Authority,
    proxy: Arc<Authority>,
    file: PathBuf,
}

impl Trust {
    fn new() -> Self {
        let (site, proxy) = (Authority::new().unwrap(), Arc::new(Authority::new().unwrap()));
        let file = file_of(&site);
        Self { site, proxy, file }
    }

    fn single(&self, site: SocketAddr, compress: Option<Compression>) -> Proxy {
        let role = Role::Single { compress, cache: true };
        let intercept = Some(self.proxy.clone());
        let trusted = Some(self.file.clone());
        Proxy::start(Options { intercept, trusted, ..options(role, reach(site)) })
    }
}

impl Drop for Trust {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[test]
fn what_is_encrypted_is_optimised_too_where_that_is_wanted() {
    let trust = Trust::new();
    let (site, seen) = secret_site(&trust.site);
    let trusted = Some(trust.file.clone());
    let server = Proxy::start(Options { trusted, ..options(Role::Server, reach(site)) });
    let compress = Some(Compression::Zstd);
    let half = Halves { compress, cache: true, delta: true, push: true, ..halves(server.address) };
    let intercept = Some(trust.proxy.clone());
    let client = Proxy::start(Options { intercept, ..options(Role::Client(half), reach(site)) });
    for (proxy, pushes) in [(trust.single(site, Some(Compression::Gzip)), 0), (client, 1)] {
        let mut browser = proxy.browse().within("a.test", &trust.proxy);
        for path in ["/page", "/style.css", "/text/500", "/text/500"] {
            browser.ask_with(&format!("https://a.test{path}"), "Accept-Encoding: gzip\r\n");
            let (status, head, body) = browser.reply();
            let coded = field(&head, "content-encoding").map(|coding| assert_eq!(coding, "gzip"));
            let plain = match coded {
                Some(()) => {
                    let mut plain = Vec::new();
                    flate2::write::GzDecoder::new(&mut plain).write_all(&body).unwrap();
                    plain
                }
                None => body,
            };
            assert!((status, plain) == (200, object(path).unwrap().1), "{path}: {head}");
        }
        drop(browser);
        let counts = proxy.end().counts;
        assert_eq!((counts.intercepted, counts.tunnels, counts.failed, counts.replies), (1, 0, 0, 4));
        assert!(counts.compressed >= 2, "{counts:?}");
        // Of the page's objects the style sheet alone has its scheme.
        assert_eq!((counts.pushes, counts.pushes_used), (pushes, pushes));
    }
    let heads = seen.heads.lock().unwrap();
    assert!(heads.iter().all(|head| field(head, "host") == Some("a.test".into())), "{heads:?}");
}

#[test]
fn browsers_ask_for_all_at_once_in_frames() {
    let trust = Trust::new();
    let (site, _) = secret_site(&trust.site);
    let proxy = trust.single(site, None);
    let file = file_of(&trust.proxy);
    let mut config = believing(Some(&file)).unwrap();
    std::fs::remove_file(file).unwrap();
    config.alpn_protocols = vec![b"h2".into(), b"http/1.1".into()];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut stream = tokio::net::TcpStream::connect(proxy.address).await.unwrap();
        stream.write_all(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n").await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let name = "a.test".try_into().unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut replies = Vec::new();
        for n in 0..12 {
            sender = sender.ready().await.unwrap();
            let uri = format!("https://a.test/text/{}", 100 + n);
            let request = hyper::Request::get(uri).header("cookie", "a=1").header("cookie", "b=2");
            replies.push(sender.send_request(request.body(()).unwrap(), true).unwrap().0);
        }
        for (n, reply) in replies.into_iter().enumerate().rev() {
            let mut body = reply.await.unwrap().into_body();
            let mut octets = Vec::new();
            while let Some(data) = body.data().await {
                let data: Bytes = data.unwrap();
                body.flow_control().release_capacity(data.len()).unwrap();
                octets.extend_from_slice(&data);
            }
            assert!(octets == lab::text(100 + n), "{n}");
        }
    });
    let counts = proxy.end().counts;
    assert_eq!((counts.connections, counts.intercepted, counts.requests), (1, 1, 1 + 12));
}

#[test]
fn fault_who_is_not_trusted_gets_nothing_and_what_was_not_asked_for_is_not_given() {
    let trust = Trust::new();
    let (site, seen) = secret_site(&trust.site);
    // A browser that does not trust the proxy.
    let proxy = trust.single(site, None);
    let mut browser = proxy.browse().within("a.test", &trust.site);
    assert!(
        browser.0.get_mut().write_all(b"GET / HTTP/1.1\r\n\r\n").is_err(),
        "it has refused the certificate"
    );
    drop(browser);
    assert!(proxy.until(|now| now.counts.failed == 1));
    // A proxy that does not believe the origin.
    let other = Trust::new();
    let doubting = other.single(site, None);
    let mut browser = doubting.browse().within("a.test", &other.proxy);
    assert_eq!(browser.get("https://a.test/text/1").0, 502);
    // A request for another origin than the tunnel's.
    let mut browser = proxy.browse().within("a.test", &trust.proxy);
    assert_eq!(browser.get("https://b.test/text/1").0, 421);
    assert!(seen.heads.lock().unwrap().is_empty());
    // Without being asked to, nobody looks into tunnels.
    let plain = Proxy::start(options(lab::SINGLE, reach(site)));
    let mut browser: Browser<_> = plain.browse().within("a.test", &trust.site);
    assert_eq!(browser.get("/text/9").1, lab::text(9));
    drop(browser);
    let counts = plain.end().counts;
    assert_eq!((counts.tunnels, counts.intercepted, counts.replies), (1, 0, 0));
}
