//! A site hosted on loopback with rewritten addresses, and sites that must be refused.

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use airperf_host::{Counts, Matching, Options, Site, Told, serve};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

fn entry(
    folder: &Path,
    origin: usize,
    target: &str,
    kind: &str,
    body: &[u8],
    more: &[(&str, &str)],
) -> Value {
    let hash: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    fs::create_dir_all(folder.join("bodies")).unwrap();
    fs::write(folder.join("bodies").join(&hash), body).unwrap();
    let mut headers = vec![json!(["content-type", kind])];
    headers.extend(more.iter().map(|(name, value)| json!([name, value])));
    json!({ "origin": origin, "method": "GET", "target": target, "status": 200, "headers": headers,
            "body": hash, "body_bytes": body.len(), "think_ns": 0 })
}

fn form(entries: Vec<Value>) -> Value {
    json!({
        "schema": 1, "title": "a test", "source": {}, "names": {},
        "origins": [
            { "scheme": "https", "host": "www.example.org", "port": 443 },
            { "scheme": "http", "host": "static.example.org", "port": 8080 },
        ],
        "entries": entries,
    })
}

fn write(folder: &Path, form: &Value) {
    fs::write(folder.join("site.json"), form.to_string()).unwrap();
}

/// Hosts the site while `visit` asks it; `visit` gets the place of each origin by its name.
fn hosted(
    folder: &Path,
    matching: Matching,
    visit: impl FnOnce(&dyn Fn(&str) -> String) + Send + 'static,
) -> Told {
    let site = Site::load(folder).unwrap();
    let options =
        Options { matching, think: true, http2: true, rewritten_at: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)) };
    let (places, told) = mpsc::channel::<Told>();
    let visitor = thread::spawn(move || {
        let told = told.recv().unwrap();
        visit(&|origin| told.origins[origin].trim_start_matches("http://").to_owned());
    });
    let mut sent = false;
    serve(site, options, &mut |told| {
        if !sent {
            places.send(told.clone()).unwrap();
            sent = true;
        }
        if visitor.is_finished() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })
    .inspect(|_| visitor.join().unwrap())
    .unwrap()
}

fn get(place: &str, target: &str, more: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(place).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{more}\r\n").unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    let end = reply.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    (String::from_utf8(reply[..end].to_vec()).unwrap().to_ascii_lowercase(), reply[end + 4..].to_vec())
}

#[test]
fn what_was_recorded_is_served_and_the_rest_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let entries = vec![
        entry(folder.path(), 0, "/", "text/html", b"<p>first", &[]),
        entry(folder.path(), 0, "/", "text/html", b"<p>second", &[]),
        entry(folder.path(), 0, "/a?v=100&t=5", "text/plain", b"near", &[]),
        entry(folder.path(), 0, "/a?x=1", "text/plain", b"far", &[]),
    ];
    write(folder.path(), &form(entries));
    let told = hosted(folder.path(), Matching::Fuzzy, |place| {
        let place = place("https://www.example.org");
        assert_eq!(get(&place, "/", "").1, b"<p>first");
        assert_eq!(get(&place, "/", "").1, b"<p>second");
        assert_eq!(get(&place, "/", "").1, b"<p>second", "the last recording stays");
        assert_eq!(get(&place, "/a?v=100&t=77", "").1, b"near", "the query that begins most alike");
        let (head, body) = get(&place, "/nothing", "");
        assert!(head.starts_with("http/1.1 404"), "{head}");
        assert!(String::from_utf8_lossy(&body).contains("was not recorded"));
    });
    let wanted = Counts { connections: 5, exact: 3, similar: 1, missing: 1, ..Counts::default() };
    assert_eq!(told.counts, wanted);
    assert_eq!(told.misses, ["GET https://www.example.org/nothing"]);
}

#[test]
fn strict_matching_takes_no_other_query() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &form(vec![entry(folder.path(), 0, "/a?v=1", "text/plain", b"one", &[])]));
    let told = hosted(folder.path(), Matching::Strict, |place| {
        let place = place("https://www.example.org");
        assert!(get(&place, "/a?v=2", "").0.starts_with("http/1.1 404"));
        assert_eq!(get(&place, "/a?v=1", "").1, b"one");
    });
    assert_eq!((told.counts.exact, told.counts.missing), (1, 1));
}

#[test]
fn texts_name_the_places_of_origins_and_other_names_stay() {
    let folder = tempfile::tempdir().unwrap();
    let text = r#"<img src="https://www.example.org/x"><script src=//static.example.org:8080/s.js></script>
        {"u":"https:\/\/www.example.org\/y"} https://www.example.org.evil.example/ https://www.example.organic/"#;
    let binary = b"\x89PNG https://www.example.org/".as_slice();
    let policy =
        [("content-security-policy", "default-src https://www.example.org"), ("content-encoding", "gzip")];
    let entries = vec![
        entry(folder.path(), 0, "/", "text/html; charset=utf-8", &gzip(text), &policy),
        entry(folder.path(), 0, "/p.png", "image/png", binary, &[]),
        entry(
            folder.path(),
            1,
            "/s.js",
            "text/javascript",
            b"1",
            &[("location", "https://www.example.org/z")],
        ),
    ];
    write(folder.path(), &form(entries));
    hosted(folder.path(), Matching::Strict, move |place| {
        let (www, other) = (place("https://www.example.org"), place("http://static.example.org:8080"));
        let (head, body) = get(&www, "/", "Accept-Encoding: gzip\r\n");
        let body = String::from_utf8(body).unwrap();
        assert!(!head.contains("content-security-policy") && !head.contains("content-encoding"), "{head}");
        assert!(body.contains(&format!(r#"src="http://{www}/x""#)), "{body}");
        assert!(body.contains(&format!("src=//{other}/s.js")), "{body}");
        assert!(body.contains(&format!(r#"http:\/\/{www}\/y"#)), "{body}");
        assert!(
            body.contains("https://www.example.org.evil.example/ https://www.example.organic/"),
            "{body}"
        );
        assert_eq!(get(&www, "/p.png", "").1, binary, "a picture is no text");
        assert!(get(&other, "/s.js", "").0.contains(&format!("location: http://{www}/z")));
    });
}

#[test]
fn a_client_that_takes_no_gzip_gets_the_body_unpacked() {
    let folder = tempfile::tempdir().unwrap();
    let packed = gzip("a long text");
    let coding = [("content-encoding", "gzip")];
    write(folder.path(), &form(vec![entry(folder.path(), 0, "/f", "font/x", &packed, &coding)]));
    hosted(folder.path(), Matching::Strict, move |place| {
        let place = place("https://www.example.org");
        let (head, body) = get(&place, "/f", "Accept-Encoding: gzip, br\r\n");
        assert!(head.contains("content-encoding: gzip"), "{head}");
        assert_eq!(body, packed);
        let (head, body) = get(&place, "/f", "");
        assert!(!head.contains("content-encoding"), "{head}");
        assert_eq!(body, b"a long text");
    });
}

#[test]
fn a_site_that_could_do_harm_or_was_damaged_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let good = form(vec![entry(folder.path(), 0, "/", "text/html", b"x", &[])]);
    let refused = |path: &str, value: Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(path).unwrap() = value;
        write(folder.path(), &bad);
        Site::load(folder.path()).unwrap_err().to_string()
    };
    assert!(refused("/entries/0/body", json!("../../../etc/passwd")).contains("not named by a SHA-256"));
    assert!(refused("/entries/0/origin", json!(9)).contains("entries[0]: its origin is not in the list"));
    assert!(refused("/entries/0/status", json!(999)).contains("status 999"));
    assert!(refused("/entries/0/body_bytes", json!(2)).contains("not what was recorded"));
    assert!(refused("/origins/0/host", json!("a\r\nb")).contains("is no host"));
    assert!(refused("/origins/0/scheme", json!("file")).contains("scheme \"file\""));
    assert!(refused("/schema", json!(2)).contains("schema version 2"));
    assert!(refused("/entries", json!([])).contains("no exchange"));
    fs::write(folder.path().join("site.json"), "{").unwrap();
    assert!(Site::load(folder.path()).unwrap_err().to_string().contains("line 1"));
    assert!(Site::load(&folder.path().join("none")).unwrap_err().to_string().contains("--keep FOLDER"));
}
