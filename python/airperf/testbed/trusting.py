"""The variables of a command that is to trust a private authority.

Leaves out making the authority, which is the crate ``host``'s.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

NAMES = ("SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO")
"""Where TLS libraries look for the authorities that they trust."""


SYSTEM_AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


def trusted_authorities() -> Path | None:
    """The file of authorities by which servers are believed: the caller's own, or the system's."""
    trusted = Path(os.environ.get("SSL_CERT_FILE") or SYSTEM_AUTHORITIES)
    return trusted if trusted.is_file() else None


def spki(key_hash: str) -> str:
    """A key's SHA-256 as Chromium's option has it, from hexadecimal."""
    return base64.b64encode(bytes.fromhex(key_hash)).decode()


def trusting(authority: Path, key_hash: str) -> dict[str, str]:
    """The caller's variables, with the authority where TLS libraries look for one, and no proxy."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    own = {"AIRPERF_CA": str(authority), "AIRPERF_CA_SPKI": spki(key_hash)}
    return kept | dict.fromkeys(NAMES, str(authority)) | own
