"""The category of a failure: which evidence there is, and how strong it is."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from collector.core.error_bodies import ErrorBody, embedded_body
from collector.core.hints import TIMEOUT_WORD, category_hint
from collector.core.reading import Reading
from schemas.vocabulary import CATEGORY_WORDS

DECLARED, BODY, CODE, CLASS, TEXT, NONE = 5, 4, 3, 2, 1, 0

HTTP = {
    **dict.fromkeys((401, 403), "permission"),
    **dict.fromkeys((408, 429, 502, 503, 504), "transient"),
    **dict.fromkeys((400, 404, 409, 422), "validation"),
}
JSONRPC = dict.fromkeys((-32602, -32600, -32601), "validation")
# Codes that clients use for a request that was given up waiting for.
JSONRPC_TIMEOUTS = frozenset({-32001, -32000})

_TRANSIENT = re.compile(
    r"timeout\w*|\w*timeout(?:error|exception)?|deadline_?exceeded|connect(?:ion)?\w*|\w*connection(?:error|closed|reset|refused)\w*"
    r"|\w*unavailable\w*|rate_?limit\w*|too_?many_?requests\w*",
    re.IGNORECASE,
)
_VALIDATION = re.compile(
    r"\w*validation_?error|\w*no_?such_?tool\w*|\w*unknown_?tool\w*|\w*tool_?not_?found\w*|\w*invalid_?(?:tool_?)?(?:args?|arguments?|input|params?)\w*",
    re.IGNORECASE,
)
_PERMISSION = re.compile(r"permission\w*|unauthori[sz]ed\w*|forbidden\w*|\w*authenticationerror|\w*authorizationerror", re.IGNORECASE)
_ARGUMENTS = re.compile(r"\bargument", re.IGNORECASE)
_TOOL = re.compile(r"\btool\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CategoryEvidence:
    """One piece of evidence: the category, the emitter's own word for it, how strong it is (0 to 5), and the rule that found it."""

    category: str
    raw: str | None
    strength: int
    by: str
    retryable: bool | None = None


def evidence_for(reading: Reading, disabled: Collection[str] = ()) -> CategoryEvidence:
    """The strongest evidence of one span for the category of its failure; `unclassified` by `none` if there is none."""
    word = reading.text.get("category")
    if word is not None:
        known = category_of_word(word)
        return CategoryEvidence(known or "unclassified", None if known == word else word, DECLARED, "declared", reading.retryable)
    found = _from_bodies(reading)
    if found is None or found.category == "unclassified":
        found = _from_codes(reading) or _from_classes(reading) or _from_text(reading, disabled) or found
    if found is None:
        return CategoryEvidence("unclassified", None, NONE, "none", reading.retryable)
    return found if reading.retryable is None else CategoryEvidence(found.category, found.raw, found.strength, found.by, reading.retryable)


def category_of_word(word: str) -> str | None:
    """The category that a word stands for, trimmed and case-folded; None if it is not known."""
    return CATEGORY_WORDS.get(word.strip().casefold().replace("-", "_").replace(" ", "_"))


def _from_bodies(reading: Reading) -> CategoryEvidence | None:
    best: CategoryEvidence | None = None
    for body in bodies_of(reading):
        if body.category is not None:
            known = category_of_word(body.category)
            found = CategoryEvidence(
                known or "unclassified", None if known == body.category else body.category, BODY, "body", body.retryable
            )
            if known:
                return found
            best = best or found
        elif body.retryable is not None and best is None:
            best = CategoryEvidence("unclassified", None, NONE, "none", body.retryable)
    return best


def bodies_of(reading: Reading) -> Iterator[ErrorBody]:
    """The error bodies of a span that is known to have failed: in results, in the status message, in exceptions."""
    for facts in reading.results:
        for key in ("error", "embedded"):
            if key in facts:
                yield ErrorBody(**facts[key])
    for text in texts_of(reading):
        if "{" in text:
            body = embedded_body(text)
            if body is not None:
                yield body


def texts_of(reading: Reading) -> Iterator[str]:
    """What a span says in free text about its failure, the most telling first."""
    if "error_message" in reading.text:
        yield reading.text["error_message"]
    if reading.status_message:
        yield reading.status_message
    for _, message in reading.exceptions:
        if message:
            yield message
    for facts in reading.results:
        text = facts.get("error", {}).get("message") or facts.get("excerpt")
        if text:
            yield text


def _from_codes(reading: Reading) -> CategoryEvidence | None:
    if reading.http_status in HTTP:
        return CategoryEvidence(HTTP[reading.http_status], None, CODE, f"http:{reading.http_status}")
    for code in codes_of(reading):
        if code in JSONRPC:
            return CategoryEvidence(JSONRPC[code], None, CODE, f"jsonrpc:{code}")
        if code in JSONRPC_TIMEOUTS and says_timeout(reading):
            return CategoryEvidence("transient", None, CODE, f"jsonrpc:{code}")
    return None


def codes_of(reading: Reading) -> Iterator[int]:
    """The JSON-RPC error codes that a span shows."""
    if reading.jsonrpc_code is not None and reading.jsonrpc_code < 0:
        yield reading.jsonrpc_code
    for facts in reading.results:
        code = facts.get("error", {}).get("code")
        if isinstance(code, int) and code < 0:
            yield code


def _from_classes(reading: Reading) -> CategoryEvidence | None:
    texts = " ".join(texts_of(reading))
    for name in class_names(reading):
        category = category_of_class(name, texts)
        if category is not None:
            return CategoryEvidence(category, None, CLASS, f"class:{name}")
    return None


def class_names(reading: Reading) -> Iterator[str]:
    """error.type and exception classes without their modules."""
    for name in (reading.text.get("error_type", ""), *(kind for kind, _ in reading.exceptions)):
        bare = name.rpartition(".")[2].strip()
        if bare and bare.casefold() != "tool_error":
            yield bare


def category_of_class(name: str, texts: str) -> str | None:
    """The category that an error word or exception class stands for. `texts`: what was said with it."""
    word = category_of_word(name)
    if word not in (None, "unclassified"):
        return word
    if _TRANSIENT.fullmatch(name):
        return "transient"
    if _PERMISSION.fullmatch(name):
        return "permission"
    if _VALIDATION.fullmatch(name):
        return "validation"
    # What was not found, or of which type, matters: a missing tool is the caller's mistake, a missing record may be a finding.
    if name in ("NotFoundError", "NotFound") and _TOOL.search(texts):
        return "validation"
    if name == "TypeError" and _ARGUMENTS.search(texts):
        return "validation"
    return None


def _from_text(reading: Reading, disabled: Collection[str]) -> CategoryEvidence | None:
    hints = [category_hint(text, disabled) for text in texts_of(reading)]
    hints += [(facts["hint"][0], facts["hint"][1]) for facts in reading.results if "hint" in facts]
    for hint in hints:
        if hint is not None and not (hint[1] == TIMEOUT_WORD and "timeout_word" in disabled):
            return CategoryEvidence(hint[0], None, TEXT, f"text:{hint[1]}")
    return None


def says_timeout(reading: Reading) -> bool:
    """Whether a span says in words that time ran out."""
    return any(hint is not None and hint[1] == TIMEOUT_WORD for hint in map(category_hint, texts_of(reading)))
