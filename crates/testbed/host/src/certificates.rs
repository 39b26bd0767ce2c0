//! A private certificate authority and the certificates that it signs, one for each name.
//!
//! Made anew for every hosting and valid for 30 days: nobody should come to trust it. And the other side of whoever answers in
//! the place of a server: believing that server. References: RFC 5280, RFC 6066
//! §3 (the client says whom it wants, and gets that name's certificate). Left out: revocation.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
    PublicKeyData,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use sha2::{Digest, Sha256};

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A name that no certificate can carry, or no randomness.
    #[error("cannot make a certificate for {name:?}: {error}")]
    Make {
        /// The name.
        name: String,
        /// Why.
        error: rcgen::Error,
    },
    /// The TLS library refuses what was made.
    #[error("the TLS library refuses a certificate: {0}")]
    Refused(#[from] rustls::Error),
}

/// The authority of one hosting.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    key_hash: [u8; 32],
}

impl std::fmt::Debug for Authority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Authority")
    }
}

impl Authority {
    /// A new authority.
    ///
    /// # Errors
    /// [`CertificateError`] when the system gives no randomness.
    pub fn new() -> Result<Self, CertificateError> {
        let make = |error| CertificateError::Make { name: "the authority".into(), error };
        let mut wanted = valid(CertificateParams::default());
        wanted.distinguished_name.push(DnType::CommonName, "airperf, private, for one hosting");
        wanted.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        wanted.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(make)?;
        let key_hash = Sha256::digest(key.subject_public_key_info()).into();
        Ok(Self { issuer: CertifiedIssuer::self_signed(wanted, key).map_err(make)?, key_hash })
    }

    /// Its certificate, for clients that are to trust it (PEM, RFC 7468).
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// SHA-256 of its public key (`SubjectPublicKeyInfo`), by which Chromium can be told to trust it.
    pub fn key_hash(&self) -> [u8; 32] {
        self.key_hash
    }

    fn sign(&self, name: &str) -> Result<CertifiedKey, CertificateError> {
        let make = |error| CertificateError::Make { name: name.into(), error };
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let mut wanted = valid(CertificateParams::new(vec![bare.to_owned()]).map_err(make)?);
        // A common name has at most 64 characters (RFC 5280, upper bounds); clients look at the alternative name.
        wanted.distinguished_name.push(DnType::CommonName, bare.chars().take(64).collect::<String>());
        let key = KeyPair::generate().map_err(make)?;
        let certificate = wanted.signed_by(&key, &self.issuer).map_err(make)?;
        let chain = vec![certificate.der().clone(), self.issuer.der().clone()];
        let private = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        Ok(CertifiedKey::new(chain, ring::sign::any_supported_type(&private)?))
    }

    /// The TLS side of a server that answers for these names, over HTTP/2 or HTTP/1.1, or over the latter alone.
    ///
    /// # Errors
    /// [`CertificateError`] for a name that no certificate can carry.
    pub fn server<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        http2: bool,
    ) -> Result<ServerConfig, CertificateError> {
        let keys = names.map(|name| Ok((name.to_owned(), Arc::new(self.sign(name)?))));
        let keys = keys.collect::<Result<BTreeMap<_, _>, CertificateError>>()?;
        let provider = Arc::new(ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(ByName(keys)));
        config.alpn_protocols =
            if http2 { vec![b"h2".into(), b"http/1.1".into()] } else { vec![b"http/1.1".into()] };
        Ok(config)
    }
}

/// How servers are asked over TLS: they are believed by the authorities of this file (PEM), or by nobody.
///
/// # Errors
/// When the file cannot be read.
pub fn believing(trusted: Option<&Path>) -> io::Result<ClientConfig> {
    let odd = |error: &dyn std::fmt::Display| io::Error::other(error.to_string());
    let mut roots = RootCertStore::empty();
    if let Some(path) = trusted {
        let named = |error: &dyn std::fmt::Display| odd(&format_args!("{}: {error}", path.display()));
        let certificates = CertificateDer::pem_file_iter(path).map_err(|error| named(&error))?;
        for certificate in certificates {
            // A store of many authorities may have some that this library does not understand.
            let _ = roots.add(certificate.map_err(|error| named(&error))?);
        }
    }
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| odd(&error))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

fn valid(mut wanted: CertificateParams) -> CertificateParams {
    let now = std::time::SystemTime::now();
    let day = std::time::Duration::from_secs(86_400);
    wanted.not_before = (now - day).into();
    wanted.not_after = (now + 30 * day).into();
    wanted
}

#[derive(Debug)]
struct ByName(BTreeMap<String, Arc<CertifiedKey>>);

impl ResolvesServerCert for ByName {
    /// The certificate of the name that the client wants; the first one when it names nobody, as for a bare address.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        match hello.server_name() {
            Some(name) => self.0.get(&name.to_ascii_lowercase()).cloned(),
            None => self.0.values().next().cloned(),
        }
    }
}
