//! What something looks like that is no capture airperf reads: for the message, not for the analysis.
//!
//! Leaves out anything that would need more than the first bytes.

const CONVERT: &str = "Convert it with Wireshark's editcap to pcapng.";
const UNPACK: &str = "Unpack it first; of compressed captures, gzip and zstd are read as they are.";
const GIVE: &str = "Give a pcap or pcapng file, plain or in gzip or zstd.";

/// First bytes, what begins with them, and what to do.
const KNOWN: &[(&[u8], &str, &str)] = &[
    (b"PK\x03\x04", "is a zip archive", UNPACK),
    (b"PK\x05\x06", "is an empty zip archive", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "is a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "is a RAR archive", UNPACK),
    (b"\xfd7zXZ\0", "is compressed with xz", UNPACK),
    (b"BZh", "is compressed with bzip2", UNPACK),
    (b"\x04\x22\x4d\x18", "is compressed with lz4", UNPACK),
    (b"\x1f\x9d", "is compressed with compress", UNPACK),
    (b"\x1f\x8b", "is compressed with gzip twice", UNPACK),
    (b"\x28\xb5\x2f\xfd", "is compressed with zstd within another compression", UNPACK),
    (b"snoop\0\0\0", "is a capture of Solaris snoop", CONVERT),
    (b"TRSNIFF data", "is a capture of Network General's Sniffer", CONVERT),
    (b"XCP\0", "is a capture of Network General's NetXRay", CONVERT),
    (b"GMBU", "is a capture of Microsoft Network Monitor", CONVERT),
    (b"RTSS", "is a capture of Microsoft Network Monitor", CONVERT),
    (b"btsnoop\0", "is a Bluetooth log", CONVERT),
    (b"\x7fver\0", "is a capture of Savvius OmniPeek", CONVERT),
    (b"\x1c\x00\x01\xac", "is a capture of IXIA in its own variant of pcap", CONVERT),
    (b"\x1c\x00\x01\xab", "is a capture of IXIA in its own variant of pcap", CONVERT),
    (b"PAR1", "is a Parquet file", "Records are read with airperf.open_run or Polars."),
    (b"\x7fELF", "is a program", GIVE),
    (b"%PDF", "is a PDF document", GIVE),
    (b"\x89PNG", "is a picture", GIVE),
    (b"\xff\xd8\xff", "is a picture", GIVE),
    (b"{", "looks like JSON", GIVE),
    (b"<", "looks like HTML or XML", GIVE),
];

/// What a file that begins so is, and what to do.
pub(super) fn looks_like(start: &[u8]) -> (String, &'static str) {
    if let Some((_, what, remedy)) = KNOWN.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return ((*what).to_owned(), remedy);
    }
    if start.get(257..262) == Some(b"ustar") {
        return ("is a tar archive".to_owned(), UNPACK);
    }
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if start.iter().all(is_text) {
        return ("looks like text".to_owned(), GIVE);
    }
    let shown: Vec<String> = start.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    (format!("begins with {}", shown.join(" ")), GIVE)
}
