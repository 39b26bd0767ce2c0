//! The keys of QUIC's first packets, which anybody can derive: they keep out accidents, not observers.
//!
//! Reference: RFC 9001 §5.2 (keys), §5.3 (AEAD), §5.4 (header protection); RFC 9369 §3.3 (version 2).

use aes_gcm::aes::Aes128;
use aes_gcm::aes::cipher::{BlockEncrypt, KeyInit};
use aes_gcm::{AeadInPlace, Aes128Gcm};
use hkdf::Hkdf;
use sha2::Sha256;

/// Octets of ciphertext that the header is masked with.
const SAMPLE: usize = 16;
const TAG: usize = 16;

/// A version of QUIC whose first packets can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    V2,
}

impl Version {
    pub(super) fn of(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::V1),
            0x6b33_43cf => Some(Self::V2),
            _ => None,
        }
    }

    /// Type of Initial packets, in bits 4 and 5 of their first octet.
    pub(super) fn initial_type(self) -> u8 {
        match self {
            Self::V1 => 0,
            Self::V2 => 1,
        }
    }

    fn salt(self) -> [u8; 20] {
        match self {
            Self::V1 => [
                0x38, 0x76, 0x2c, 0xf7, 0xf5, 0x59, 0x34, 0xb3, 0x4d, 0x17, 0x9a, 0xe6, 0xa4, 0xc8, 0x0c,
                0xad, 0xcc, 0xbb, 0x7f, 0x0a,
            ],
            Self::V2 => [
                0x0d, 0xed, 0xe3, 0xde, 0xf7, 0x00, 0xa6, 0xdb, 0x81, 0x93, 0x81, 0xbe, 0x6e, 0x26, 0x9d,
                0xcb, 0xf9, 0xbd, 0x2e, 0xd9,
            ],
        }
    }

    fn labels(self) -> [&'static [u8]; 3] {
        match self {
            Self::V1 => [b"quic key", b"quic iv", b"quic hp"],
            Self::V2 => [b"quicv2 key", b"quicv2 iv", b"quicv2 hp"],
        }
    }
}

/// What protects the Initial packets of a client.
pub(super) struct Keys {
    packet: Aes128Gcm,
    iv: [u8; 12],
    header: Aes128,
}

impl Keys {
    /// The keys that follow from the connection id the client first chose for the server.
    pub(super) fn of_client(version: Version, destination: &[u8]) -> Self {
        let (key, iv, header) = derive(version, destination);
        Self { packet: Aes128Gcm::new(&key.into()), iv, header: Aes128::new(&header.into()) }
    }

    /// The frames of `packet`, whose packet number begins at `number_at`; `None` if it is not what these
    /// keys protect.
    pub(super) fn open(&self, packet: &[u8], number_at: usize) -> Option<Vec<u8>> {
        let sample: [u8; SAMPLE] = packet.get(number_at + 4..)?.first_chunk().copied()?;
        let mut mask = sample.into();
        self.header.encrypt_block(&mut mask);
        let first = packet.first()? ^ mask[0] & 0x0f;
        let length = usize::from(first & 3) + 1;
        let mut header = packet.get(..number_at + length)?.to_vec();
        header[0] = first;
        let mut nonce = self.iv;
        for (i, masked) in header[number_at..].iter_mut().enumerate() {
            *masked ^= mask[1 + i];
            nonce[12 - length + i] ^= *masked;
        }
        let (body, tag) = packet.get(number_at + length..)?.split_last_chunk::<TAG>()?;
        let mut body = body.to_vec();
        self.packet.decrypt_in_place_detached(&nonce.into(), &header, &mut body, tag.into()).ok()?;
        Some(body)
    }
}

/// Key, initialisation vector and header key of a client.
fn derive(version: Version, destination: &[u8]) -> ([u8; 16], [u8; 12], [u8; 16]) {
    let initial = Hkdf::<Sha256>::new(Some(&version.salt()), destination);
    let mut secret = [0; 32];
    expand(&initial, b"client in", &mut secret);
    // A secret as long as the hash is always good.
    let secret = Hkdf::<Sha256>::from_prk(&secret).unwrap_or(initial);
    let (mut key, mut iv, mut header) = ([0; 16], [0; 12], [0; 16]);
    let [key_label, iv_label, header_label] = version.labels();
    expand(&secret, key_label, &mut key);
    expand(&secret, iv_label, &mut iv);
    expand(&secret, header_label, &mut header);
    (key, iv, header)
}

/// HKDF-Expand-Label with an empty context (RFC 8446 §7.1).
fn expand(secret: &Hkdf<Sha256>, label: &[u8], out: &mut [u8]) {
    let (length, label_length) = ((out.len() as u16).to_be_bytes(), [6 + label.len() as u8]);
    let info = [&length[..], &label_length, b"tls13 ", label, &[0]];
    // Only lengths beyond 255 hashes are refused.
    let done = secret.expand_multi_info(&info, out);
    debug_assert!(done.is_ok());
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A whole packet of `header`, which ends with a packet number of four octets, and `frames`.
    pub(in super::super) fn seal(version: Version, id: &[u8], header: &[u8], frames: &[u8]) -> Vec<u8> {
        let keys = Keys::of_client(version, id);
        let number_at = header.len() - 4;
        let mut nonce = keys.iv;
        header[number_at..].iter().zip(&mut nonce[8..]).for_each(|(n, iv)| *iv ^= n);
        let mut body = frames.to_vec();
        let tag = keys.packet.encrypt_in_place_detached(&nonce.into(), header, &mut body).unwrap();
        let mut packet = [header, &body, &tag].concat();
        let sample: [u8; SAMPLE] = *packet[number_at + 4..].first_chunk().unwrap();
        let mut mask = sample.into();
        keys.header.encrypt_block(&mut mask);
        packet[0] ^= mask[0] & 0x0f;
        packet[number_at..][..4].iter_mut().zip(&mask[1..]).for_each(|(n, m)| *n ^= m);
        packet
    }

    #[test]
    fn keys_are_those_of_the_appendices() {
        let hex = |octets: &[u8]| octets.iter().map(|b| format!("{b:02x}")).collect::<String>();
        // RFC 9001 A.1 and RFC 9369 A.1.
        for (version, expected) in [
            (
                Version::V1,
                [
                    "1f369613dd76d5467730efcbe3b1a22d",
                    "fa044b2f42a3fd3b46fb255c",
                    "9f50449e04a0e810283a1e9933adedd2",
                ],
            ),
            (
                Version::V2,
                [
                    "8b1a0bc121284290a29e0971b5cd045d",
                    "91f73e2351d8fa91660e909f",
                    "45b95e15235d6f45a6b19cbcb0294ba9",
                ],
            ),
        ] {
            let (key, iv, header) = derive(version, &0x8394_c8f0_3e51_5708_u64.to_be_bytes());
            assert_eq!([hex(&key), hex(&iv), hex(&header)], expected, "{version:?}");
        }
    }
}
