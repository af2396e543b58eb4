"""Read what Python programs write instead of JSON: the repr of dicts, of results, of messages."""

import ast
import re
from typing import Any

# Longer texts are not worth the parser's time and memory.
LONGEST = 65_536
MOST_NESTED = 40

# `meta=None content=[…] isError=True`: how pydantic prints a model, without its class and with spaces for commas.
_PRINTED = re.compile(r"(?:meta|_meta|content|structuredContent|structured_content|isError|is_error)=")
_FIELDS = re.compile(
    r"(?<!,) (?=(?:meta|_meta|content|structuredContent|structured_content|isError|is_error|resultType|result_type"
    r"|additional_kwargs|response_metadata|name|id|tool_call_id|artifact|status|type)=)"
)
_OBJECT = re.compile(r"[A-Za-z_][\w.]*\(\s*\w+\s*=")
# A repr that shows a class and an address, or a placeholder, but no value: `<… object at 0x…>`.
_BARE = r"(?:<[^<>]*>|\[object \w+\])"
# What redacting emitters put in place of a value.
_HIDDEN = re.compile(r"\s*(?:\[(?:filtered|redacted|masked|hidden|omitted|truncated)\]|_*redacted_*|\*{3,})\s*", re.IGNORECASE)
# Possessive: a run of white space can be divided in many ways, and a failing match would try them all.
_OPAQUE = re.compile(rf"\s*+[\[(]?\s*+{_BARE}(?:\s*+,\s*+{_BARE})*+\s*+,?\s*+[\])]?\s*+")
# Escapes that Python knows, or (group 1) does not: those it takes as they stand, with a warning.
_ESCAPE = re.compile(r"\\(?:[\\'\"abfnrtvxuUN\n0-3]|(.))", re.DOTALL)


def opaque(text: str) -> bool:
    """Whether a text only stands for a value that the emitter did not write out."""
    return _OPAQUE.fullmatch(text) is not None or _HIDDEN.fullmatch(text) is not None


def value_in(text: str) -> Any:
    """The value that a Python repr shows, objects as dicts of their fields; the text itself if it is no such repr."""
    source = text.strip()
    if len(source) > LONGEST or not source or source.count("(") + source.count("[") + source.count("{") > 2000:
        return text
    if _PRINTED.match(source):
        source = f"_({_FIELDS.sub(', ', source)})"
    elif source[0] not in "[{" and not _OBJECT.match(source):
        return text
    if "\\" in source:
        source = _ESCAPE.sub(lambda found: found[0] if found[1] is None else f"\\{found[0]}", source)
    try:
        return _value(ast.parse(source, mode="eval").body, 0)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _value(node: ast.expr, depth: int) -> Any:
    """The value of an expression made of literals, containers, and objects of keywords. Raises ValueError."""
    if depth > MOST_NESTED:
        raise ValueError("too deep")
    if isinstance(node, ast.Constant):
        return _constant(node.value)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(item, depth + 1) for item in node.elts]
    if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
        return {str(_value(key, depth + 1)): _value(item, depth + 1) for key, item in zip(node.keys, node.values, strict=True) if key}
    if isinstance(node, ast.Call) and not node.args and node.keywords and all(one.arg for one in node.keywords):
        return {str(one.arg): _value(one.value, depth + 1) for one in node.keywords}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        value = _constant(node.operand.value)
        if isinstance(value, int | float):
            return -value
    raise ValueError(type(node).__name__)


def _constant(value: Any) -> Any:
    """A literal as JSON has it. Raises ValueError for numbers that JSON has not."""
    if isinstance(value, str):
        # A lone surrogate fits in a Python literal, but in no database.
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, complex) or (isinstance(value, int) and value >= 2**63):
        raise ValueError(value)
    return None if value is Ellipsis else value
