"""Recorded sites: HAR, WARC, folders and what a proxy saw, read into one form that can be hosted again."""

from airperf.sites.form import Kept, Recording, Site, is_site, open_site, write_site
from airperf.sites.proxied import read_proxied
from airperf.sites.read import read_recording, site_of

__all__ = [
    "Kept",
    "Recording",
    "Site",
    "is_site",
    "open_site",
    "read_proxied",
    "read_recording",
    "site_of",
    "write_site",
]
