"""How text from outside is made harmless and visible: in pages, in embedded JSON, in Plotly, in paths."""

import re
import unicodedata
from typing import Any

import orjson
from markupsafe import Markup, escape

# Invisible or reordering characters: controls, format characters (bidi overrides, zero-width, tags), surrogates, separators.
_HIDDEN_CLASSES = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_SAFE_IN_PATH = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_ESCAPED_BYTES = re.compile(r"(?:~[0-9a-fA-F]{2})+")
NOTHING = "~"


def visible(text: str, keep: str = "") -> str:
    """The text with control, bidi and other hidden characters spelled out (`\\u202e`), except those in `keep`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep or unicodedata.category(c) not in _HIDDEN_CLASSES else _spelled(c) for c in text)


def _spelled(character: str) -> str:
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    code = ord(character)
    return named or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def finalized(value: Any) -> Any:
    """What Jinja prints for a value: every plain string passes through `visible`, so that no template can forget it."""
    return visible(value) if type(value) is str else value


def block(text: str | None) -> Markup:
    """Text of several lines for a <pre>: line breaks and tabs stay, everything else hidden is spelled out, then escaped."""
    return escape(visible((text or "").replace("\r\n", "\n"), keep="\n\t"))


def json_for_html(value: Any) -> Markup:
    """JSON for a <script type="application/json">: no text inside can end the element or open a comment."""
    text = orjson.dumps(value).decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def plotly_text(text: str, length: int = 48) -> str:
    """Text for labels and hovers of Plotly, which draws a subset of HTML, expands %{} and typesets $…$: all three are neutralised.

    Longer text is cut in the middle, so that names with a common start or end stay apart.
    """
    shown = visible(text)
    if len(shown) > length:
        half = (length - 1) // 2
        shown = f"{shown[: length - 1 - half]}…{shown[-half:]}"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("{", "&#123;")):
        shown = shown.replace(character, entity)
    return shown


def path_segment(name: str) -> str:
    """A name as one path segment of characters that no browser or proxy rewrites: other bytes as ~XX, '' as a lone ~."""
    return "".join(chr(b) if chr(b) in _SAFE_IN_PATH else f"~{b:02X}" for b in name.encode()) or NOTHING


def name_of_segment(segment: str) -> str:
    """The name that `path_segment` wrote; also takes names typed by hand. Raises ValueError if the bytes are no UTF-8."""
    if segment == NOTHING:
        return ""
    return _ESCAPED_BYTES.sub(lambda match: bytes.fromhex(match[0].replace("~", "")).decode(), segment)
