//! What a page or stylesheet will make a browser ask for next.
//!
//! Reference: WHATWG HTML §13.2.5 (tokens), URL Standard (relative references), CSS Syntax Level 3 §4 (comments, strings,
//! `url()`). Left out: what scripts add, `srcset` and `<picture>`, whose choice is the browser's, and media queries:
//! a print stylesheet is named like any other.

use html5gum::{StartTag, Token, Tokenizer};
use std::collections::BTreeSet;
use url::Url;

/// Most objects named from one text; a page of the studies has 67.
const MOST: usize = 256;

/// Whether a text of this kind is worth reading.
pub(crate) fn is_readable(kind: &str) -> bool {
    is_html(kind) || is_css(kind)
}

fn is_html(kind: &str) -> bool {
    kind.starts_with("text/html") || kind.starts_with("application/xhtml+xml")
}

fn is_css(kind: &str) -> bool {
    kind.starts_with("text/css")
}

/// URLs of objects that belong to `body`, in its order, each once; those with the scheme of `url` only, without fragments: what a page without
/// TLS embeds with it goes through a tunnel, and the reverse no browser fetches.
pub(crate) fn embedded(kind: &str, url: &str, body: &[u8]) -> Vec<Url> {
    let Ok(base) = Url::parse(url) else { return Vec::new() };
    let mut found = Found { itself: base.clone(), base, seen: BTreeSet::new(), urls: Vec::new() };
    if is_html(kind) {
        found.html(body);
    } else if is_css(kind) {
        found.css(&String::from_utf8_lossy(body));
    }
    found.urls
}

struct Found {
    itself: Url,
    base: Url,
    seen: BTreeSet<Url>,
    urls: Vec<Url>,
}

impl Found {
    fn add(&mut self, reference: &str) {
        let reference = reference.trim();
        let Ok(mut url) = self.base.join(reference) else { return };
        url.set_fragment(None);
        let wanted = !reference.is_empty() && url.scheme() == self.itself.scheme() && url != self.itself;
        if wanted && self.urls.len() < MOST && self.seen.insert(url.clone()) {
            self.urls.push(url);
        }
    }

    fn html(&mut self, body: &[u8]) {
        let mut emitter = html5gum::DefaultEmitter::default();
        emitter.naively_switch_states(true); // the text of a script is no markup
        let mut in_style = false;
        let mut has_base = false;
        for Ok(token) in Tokenizer::new_with_emitter(body, emitter) {
            match token {
                Token::StartTag(tag) => {
                    in_style = **tag.name == *b"style";
                    if **tag.name == *b"base" && !has_base {
                        // HTML §4.2.3: the first one counts.
                        if let Some(base) = field(&tag, "href").and_then(|href| self.itself.join(&href).ok())
                        {
                            self.base = base;
                            has_base = true;
                        }
                    }
                    self.tag(&tag);
                }
                Token::String(text) if in_style => self.css(&String::from_utf8_lossy(&text)),
                Token::EndTag(_) => in_style = false,
                _ => {}
            }
        }
    }

    fn tag(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        let place = match name {
            b"img" | b"script" | b"iframe" | b"frame" | b"embed" => Some("src"),
            b"input" if field(tag, "type").is_some_and(|kind| kind.eq_ignore_ascii_case("image")) => {
                Some("src")
            }
            b"body" | b"table" | b"td" | b"th" | b"tr" => Some("background"),
            b"link" => field(tag, "rel").filter(|rel| is_fetched(rel)).map(|_| "href"),
            _ => None,
        };
        let lazy = field(tag, "loading").is_some_and(|when| when.eq_ignore_ascii_case("lazy"));
        if let Some(reference) = place.and_then(|place| field(tag, place)).filter(|_| !lazy) {
            self.add(&reference);
        }
        if let Some(style) = field(tag, "style") {
            self.css(&style);
        }
    }

    fn css(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['/', '"', '\'', 'u', 'U', '@']) {
            rest = &rest[at..];
            if let Some(comment) = rest.strip_prefix("/*") {
                rest = comment.find("*/").map_or("", |end| &comment[end + 2..]);
            } else if let Some((quoted, after)) = quoted(rest) {
                let _ = quoted; // a string elsewhere than in url() or @import asks for nothing
                rest = after;
            } else if starts(rest, "url(") {
                rest = self.reference(rest[4..].trim_start());
            } else if starts(rest, "@import") {
                let after = rest[7..].trim_start();
                rest = match quoted(after) {
                    Some((reference, after)) => {
                        self.add(reference);
                        after
                    }
                    None => after,
                };
            } else {
                rest = rest.get(1..).unwrap_or("");
            }
        }
    }

    /// What stands in `url(`; the text after it.
    fn reference<'a>(&mut self, text: &'a str) -> &'a str {
        if let Some((reference, after)) = quoted(text) {
            self.add(reference);
            return after;
        }
        let end = text.find(')').unwrap_or(text.len());
        self.add(&text[..end]);
        &text[end..]
    }
}

fn starts(text: &str, with: &str) -> bool {
    text.get(..with.len()).is_some_and(|start| start.eq_ignore_ascii_case(with))
}

/// The string that `text` begins with, and what comes after it; escapes stay as they are.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| ['"', '\''].contains(c))?;
    let inner = &text[1..];
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        if c == quote && !escaped {
            return Some((&inner[..at], &inner[at + 1..]));
        }
        escaped = c == '\\' && !escaped;
    }
    Some((inner, ""))
}

fn is_fetched(rel: &str) -> bool {
    rel.split_ascii_whitespace().any(|word| {
        ["stylesheet", "icon", "preload", "modulepreload"]
            .iter()
            .any(|known| word.eq_ignore_ascii_case(known))
    }) && !rel.to_ascii_lowercase().contains("alternate")
}

fn field(tag: &StartTag<()>, name: &str) -> Option<String> {
    let value = tag.attributes.get(name.as_bytes())?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(kind: &str, body: &str) -> Vec<String> {
        let found = embedded(kind, "http://a.test/dir/page?q", body.as_bytes());
        found.into_iter().map(|url| url.to_string().replace("http://a.test", "")).collect()
    }

    #[test]
    fn a_page_names_what_a_browser_fetches_and_not_what_it_links_to() {
        let page = r##"<!doctype html><link rel=stylesheet href="s.css?a&amp;b"><link rel="alternate stylesheet" href=no>
            <link rel=canonical href=/no><script src=/j.js></script><script>"<img src=no>"</script>
            <!-- <img src=no> --><style>p{background:url(in.png)}</style><body background='b.gif'>
            <a href=no>x</a><IMG SRC=" i.png#f "><img src=i.png><img loading=lazy src=no>
            <img src="http://b.test:81/x"><img src=https://a.test/no><img src=data:,no>
            <input type=image src=n.gif><input src=no><p style="background:URL( 'st.png' )"><img src=""><img src="page?q">"##;
        let want = [
            "/dir/s.css?a&b",
            "/j.js",
            "/dir/in.png",
            "/dir/b.gif",
            "/dir/i.png",
            "http://b.test:81/x",
            "/dir/n.gif",
            "/dir/st.png",
        ];
        assert_eq!(paths("text/html; charset=utf-8", page), want);
    }

    #[test]
    fn references_follow_the_base_of_the_page() {
        assert_eq!(paths("text/html", "<base href=/other/><base href=/no/><img src=x>"), ["/other/x"]);
    }

    #[test]
    fn a_stylesheet_names_imports_and_images_outside_comments_and_strings() {
        let style = r#"@import "a.css"; @IMPORT url(b.css) print; /* url(no) @import "no" */
            p::after{content:"url(no)"; background: url("c\)d.png") , Url( e.png )} @import 'f.css"#;
        assert_eq!(
            paths("text/css", style),
            ["/dir/a.css", "/dir/b.css", "/dir/c/)d.png", "/dir/e.png", "/dir/f.css"]
        );
    }

    #[test]
    fn what_is_neither_is_not_read_and_a_flood_of_objects_ends() {
        assert!(paths("text/plain", "<img src=x>").is_empty());
        let flood: String = (0..5_000).map(|n| format!("<img src={n}>")).collect();
        assert_eq!(paths("text/html", &flood).len(), MOST);
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_without_panic(text in "[@iurl('\"/*\\\\)<>a-c é=]{0,200}") {
            let _ = (paths("text/css", &text), paths("text/html", &text), paths("text/html", &format!("<style>{text}")));
        }
    }
}
