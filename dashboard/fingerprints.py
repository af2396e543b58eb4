"""What failures have in common: their category, error type and message without what differs from call to call. Pure."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# Whatever is one call's own, in the order it is looked for: quoted text, ids, addresses, numbers.
_OWN = re.compile(
    r"""(?P<quoted>"[^"\n]{0,400}"|'[^'\n]{0,400}'|`[^`\n]{0,400}`|“[^”\n]{0,400}”)"""
    r"""|(?P<id>\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b(?=[a-zA-Z]*\d)[0-9a-zA-Z_-]{16,}\b|\b0x[0-9a-fA-F]+\b)"""
    r"""|(?P<number>\d+(?:[.,:]\d+)*)"""
)
_SHOWN = {"quoted": "…", "id": "<id>", "number": "#"}
_LENGTH = 200


@dataclass(frozen=True, slots=True)
class Failure:
    """What is read of a failed call."""

    start_ns: int
    category: str
    error_type: str | None
    message: str | None
    category_decided_by: str | None


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Failures that are alike: how many, when the first and the last started, and the message of the last."""

    fingerprint: str
    category: str
    error_type: str | None
    pattern: str
    sample: str | None
    calls: int
    first_ns: int
    last_ns: int


def pattern(message: str | None) -> str:
    """A message without quoted text, ids and numbers, of one line."""
    cut = _OWN.sub(lambda found: _SHOWN[found.lastgroup or "number"], (message or "")[: 4 * _LENGTH])
    return " ".join(cut.split())[:_LENGTH]


def fingerprint(category: str | None, error_type: str | None, message: str | None) -> str:
    """Twelve hexadecimal digits that are the same for failures that are alike."""
    parts = "\0".join((category or "unclassified", error_type or "", pattern(message)))
    return hashlib.blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def grouped(failures: Iterable[Failure]) -> tuple[Fingerprint, ...]:
    """Failures that are alike as one, most first."""
    found: dict[str, list[Failure]] = {}
    for failure in failures:
        found.setdefault(fingerprint(failure.category, failure.error_type, failure.message), []).append(failure)
    groups = []
    for name, alike in found.items():
        last = max(alike, key=lambda failure: failure.start_ns)
        first_ns = min(failure.start_ns for failure in alike)
        said = (pattern(last.message), last.message, len(alike))
        groups.append(Fingerprint(name, last.category, last.error_type, *said, first_ns, last.start_ns))
    return tuple(sorted(groups, key=lambda one: (-one.calls, -one.last_ns, one.fingerprint)))


def code_of(failure: Failure) -> str | None:
    """The JSON-RPC code of a failure: its error type where that is one, else what decided the category."""
    text = failure.error_type or ""
    if re.fullmatch(r"-\d{4,6}", text) and int(text) <= -32000:
        return text
    rule, _, detail = (failure.category_decided_by or "").partition(":")
    return detail or None if rule == "jsonrpc" else None


def types(failures: Iterable[Failure]) -> tuple[tuple[str, str | None, str | None, int], ...]:
    """How often each category, error type and JSON-RPC code occurs together, most first."""
    counts = Counter((failure.category, failure.error_type, code_of(failure)) for failure in failures)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1] or "", item[0][2] or ""))
    return tuple((*key, calls) for key, calls in ordered)
