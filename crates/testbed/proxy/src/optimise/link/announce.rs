//! What a reply's head announces: numbers and URLs of objects that will be pushed.
//!
//! The first number, then the URLs, those of the page's own origin without it; the pushes that follow name numbers only. In the
//! head itself, for whatever goes on a stream of its own may come after the browser has asked.

use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

const PUSH: HeaderName = HeaderName::from_static("airperf-push");
/// Longest announcement: what else is in a head is shorter (RFC 9110 §5.4 leaves the limit to us).
const LONGEST: usize = 12_288;

/// Objects that will be pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    page: String,
    first: u32,
    text: String,
}

impl Announced {
    /// Of the page with this URL; the objects get numbers from `first` on.
    pub(crate) fn new(page: &str, first: u32) -> Self {
        let page = Url::parse(page).map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        Self { page, first, text: String::new() }
    }

    /// Announces one more, if there is room.
    pub(crate) fn add(&mut self, url: &Url) -> bool {
        let whole = url.as_str();
        // "//host" would be another origin's.
        let path =
            whole.strip_prefix(&self.page).filter(|path| path.starts_with('/') && !path.starts_with("//"));
        let short = path.unwrap_or(whole);
        let room = self.text.len() + short.len() < LONGEST;
        if room {
            self.text.push(' ');
            self.text.push_str(short);
        }
        room
    }

    /// Writes itself into the head of the page's reply.
    pub(crate) fn write(&self, fields: &mut HeaderMap) {
        let value = HeaderValue::try_from(format!("{}{}", self.first, self.text));
        if let (Ok(value), false) = (value, self.text.is_empty()) {
            fields.insert(PUSH, value);
        }
    }

    /// What the head of the reply to `page` announces.
    pub(crate) fn read(fields: &HeaderMap, page: &str) -> Vec<(u32, String)> {
        let said = fields.get(PUSH).and_then(|value| value.to_str().ok()).zip(Url::parse(page).ok());
        let Some((text, page)) = said else { return Vec::new() };
        let mut words = text.split(' ');
        let Some(first) = words.next().and_then(|first| first.parse::<u32>().ok()) else { return Vec::new() };
        let url = |word: &str| page.join(word).map(String::from).unwrap_or_default();
        words.enumerate().map(|(place, word)| (first.wrapping_add(place as u32), url(word))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_is_read_again() {
        let page = "http://a.test:81/dir/page?q";
        let urls =
            ["http://a.test:81/x.png", "http://b.test/y?z", "http://a.test:81//odd/", "http://a.test/other"];
        let mut announced = Announced::new(page, 7);
        assert!(urls.iter().all(|url| announced.add(&Url::parse(url).unwrap())));
        let mut fields = HeaderMap::new();
        announced.write(&mut fields);
        assert_eq!(fields[PUSH], "7 /x.png http://b.test/y?z http://a.test:81//odd/ http://a.test/other");
        let read: Vec<_> = Announced::read(&fields, page);
        let want: Vec<_> = (7..).zip(urls.map(String::from)).collect();
        assert_eq!(read, want);
        let long = Url::parse(&format!("http://a.test/{}", "x".repeat(LONGEST))).unwrap();
        assert!(!announced.add(&long));
        fields.insert(PUSH, HeaderValue::from_static("noise /x"));
        assert!(Announced::read(&fields, page).is_empty());
    }
}
