"""The files that pages load, our own and plotly.js of the installed package, under one versioned path, compressed once."""

import base64
import gzip
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import plotly

STATIC = Path(__file__).parent / "static"
PLOTLY_FILE = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
PLOTLY_NAME = "plotly.min.js"
# plotly.js carries the style sheet of its map library and sets it when it loads, map or not.
_STYLE_SHEET = re.compile(rb"""createElement\("style"\);e\.id="[0-9a-f]+",e\.textContent='((?:[^'\\]|\\.)*)'""")
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


@dataclass(frozen=True)
class Asset:
    """One file, read and compressed when it is first asked for: plotly.js has five megabytes."""

    path: Path

    @property
    def media_type(self) -> str:
        """Its content type."""
        return _TYPES[self.path.suffix]

    @cached_property
    def body(self) -> bytes:
        """Its bytes."""
        return self.path.read_bytes()

    @cached_property
    def gzipped(self) -> bytes:
        """Its bytes, compressed."""
        return gzip.compress(self.body, 6, mtime=0)


@dataclass(frozen=True)
class Assets:
    """All files by name, and the version in their path: it changes when any of them does, so browsers may keep them for ever."""

    files: Mapping[str, Asset]
    version: str

    def url(self, name: str) -> str:
        """Where a page finds a file."""
        return f"/static/{self.version}/{self.files[name].path.name}"


def style_hashes() -> tuple[str, ...]:
    """The CSP sources that allow exactly the <style> elements that plotly.js makes: the empty one, and its maps'."""
    sheets = [match[1].replace(b"\\'", b"'") for match in _STYLE_SHEET.finditer(PLOTLY_FILE.read_bytes())]
    digests = (base64.b64encode(hashlib.sha256(sheet).digest()).decode() for sheet in (b"", *sheets))
    return tuple(f"'sha256-{digest}'" for digest in digests)


def load_assets() -> Assets:
    """Find the files. Raises OSError if the installation lacks one."""
    files = {path.name: Asset(path) for path in sorted(STATIC.iterdir()) if path.suffix in _TYPES}
    digest = hashlib.sha256(plotly.__version__.encode())
    for asset in files.values():
        digest.update(asset.body)
    return Assets(MappingProxyType({**files, PLOTLY_NAME: Asset(PLOTLY_FILE)}), digest.hexdigest()[:12])
