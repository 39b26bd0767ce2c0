"""Recorded sites: HAR and WARC files and folders, read into one form that can be hosted again."""

from airperf.sites.form import Kept, Recording, Site, open_site, write_site
from airperf.sites.read import read_recording

__all__ = ["Kept", "Recording", "Site", "open_site", "read_recording", "write_site"]
