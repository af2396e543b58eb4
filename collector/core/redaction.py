"""Keep secrets out of the database: mask them in attributes, messages and event text before anything is stored."""

import re
from typing import Any

MASK = "[redacted]"

# Cheap test on lower-cased text: without one of these there is nothing that the patterns below could find.
HINTS = (
    "token", "secret", "passw", "authoriz", "credential", "cookie", "api", "_key", "accesskey", "bearer ", "basic ",
    "sk_", "sk-", "pk_", "rk_", "gh", "xox", "akia", "eyj", "://",
)  # fmt: skip

_WORDS = (
    r"api[_\-]?key|access[_\-]?key|private[_\-]?key|secret[_\-]?key|client[_\-]?secret|secret|password|passwd|passphrase"
    r"|(?:access|refresh|auth|id|session|bearer|api|csrf)?[_\-]?token|authorization|credentials?|set-cookie|cookie"
)
# The whole of a key, or its last words: `api_key`, `user.password`, `x-auth-token`; not `total_tokens`, not `tokenizer`.
SECRET_KEY = re.compile(rf"(?:.*[._\-\s])?(?:{_WORDS})", re.IGNORECASE)

_SHAPES = re.compile(
    # `pk_constraints` is a name; a key says what it is for, or is long and holds digits.
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_](?:(?:live|test|proj|ant)[-_][A-Za-z0-9_\-]{6,}|(?=[A-Za-z_\-]{,64}[0-9])[A-Za-z0-9_\-]{16,})"
    r"|(?<![A-Za-z0-9])(?:ghp|gho|ghs|github_pat)_[A-Za-z0-9_]{8,}"
    r"|\bxox[abprs]-[A-Za-z0-9\-]{8,}"
    r"|\bAKIA[0-9A-Z]{12,}"
    r"|(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]*"
)
# What follows `basic` is a secret unless it is a plain word: "Basic authentication required" is none.
_SCHEMES = re.compile(r"\b((?i:bearer|basic)\s+)(?![A-Za-z][a-z]{,18}[.,:]?(?![A-Za-z0-9._~+/=\-]))[A-Za-z0-9._~+/=\-]{6,}")
_PAIRS = re.compile(
    rf"""((?<![A-Za-z0-9])(?:[A-Za-z0-9]+[_\-.])?(?:{_WORDS})\\?["']?\s*[:=]\s*(?:\\?["'])?(?:(?:bearer|basic)\s+)?)"""
    r"""(?!\[redacted\])[^\s"'\\,;&}\]]+""",
    re.IGNORECASE,
)
_USERINFO = re.compile(r"(://)[^/\s:@]+:[^/\s@]+@")


def suspicious(text: str) -> bool:
    """Whether a text may hold a secret, told in a microsecond."""
    lowered = text.lower()
    for hint in HINTS:  # a plain loop: this runs for every span, and a generator costs more than the searches  # noqa: SIM110
        if hint in lowered:
            return True
    return False


def masked_text(text: str, learned: tuple[str, ...] = ()) -> str:
    """The text with secrets masked: by their shape, by the key before them, and those learned from the same span's arguments."""
    for secret in learned:
        text = text.replace(secret, MASK)
    text = _PAIRS.sub(rf"\1{MASK}", text)
    text = _SCHEMES.sub(rf"\1{MASK}", text)
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    return _SHAPES.sub(MASK, text)


def masked(value: Any, learned: tuple[str, ...] = ()) -> Any:
    """A copy of a JSON-like value with secrets masked, by key and in every text."""
    if isinstance(value, str):
        return masked_text(value, learned) if learned or suspicious(value) else value
    if isinstance(value, dict):
        return {
            key: MASK if isinstance(item, str | int) and not isinstance(item, bool) and is_secret_key(key) else masked(item, learned)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [masked(item, learned) for item in value]
    return value


def is_secret_key(key: Any) -> bool:
    """Whether a value under this key is a secret."""
    return isinstance(key, str) and SECRET_KEY.fullmatch(key) is not None


def secrets_in(value: Any) -> tuple[str, ...]:
    """The secret texts that stand under secret keys in a value: to be masked wherever else they appear. The longest first."""
    found: set[str] = set()
    _collect(value, found, 0)
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _collect(value: Any, found: set[str], depth: int) -> None:
    if depth > 16:
        return
    if isinstance(value, dict):
        for key, item in value.items():
            # Short values ("on", "1234") would blank out half of any text.
            if isinstance(item, str) and len(item) >= 8 and is_secret_key(key):
                found.add(item)
            else:
                _collect(item, found, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _collect(item, found, depth + 1)
