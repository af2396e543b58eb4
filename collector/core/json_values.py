"""The values of OTLP/JSON: what each field may hold, in every spelling that emitters use, and a reason where it does not."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from typing import Any

# Levels of arrays and maps in one attribute; the protobuf parser stops at about as many.
DEEPEST = 32


class Wrong(ValueError):
    """A value that its field cannot hold: the reason (there are few), and as `sample` the id or time, or the attribute's name."""

    def __init__(self, reason: str, sample: object = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.sample = str(sample)


def get(given: Mapping[str, Any], camel: str, snake: str) -> Any:
    value = given.get(camel)
    return given.get(snake) if value is None else value


def items(given: Any, where: str) -> Iterable[dict[str, Any]]:
    if given is None:
        return
    if not isinstance(given, list):
        raise Wrong(f"{where} is not a list")
    for one in given:
        if not isinstance(one, dict):
            raise Wrong(f"{where}: one is not an object")
        yield one


def identifier(given: Mapping[str, Any], camel: str, snake: str, digits: int) -> bytes:
    value = get(given, camel, snake)
    if not value:
        return b""
    try:
        return binascii.unhexlify(value)
    except (TypeError, ValueError):
        raise Wrong(f"{camel} is not hex: {digits} hex digits are needed (not base64)", value) from None


def text(value: Any, where: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Wrong(f"{where} is not a string")
    return value


def _bool(value: Any, where: str) -> bool:
    if value in (True, "true"):
        return True
    if value in (False, "false"):
        return False
    raise Wrong(f"{where} is neither true nor false")


def time(given: Mapping[str, Any], camel: str, snake: str) -> int:
    return whole(get(given, camel, snake), camel, 0, 2**64 - 1)


def whole(value: Any, where: str, low: int, high: int) -> int:
    if value is None or value == "":
        return 0
    number = value
    if isinstance(value, str):
        try:
            number = int(value)
        except ValueError:
            number = _double(value, where)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        raise Wrong(f"{where} is not a whole number between {low} and {high}", value)
    return number


def _double(value: Any, where: str) -> float:
    try:
        if not isinstance(value, bool):
            return float(value)  # takes the words NaN, Infinity and -Infinity too
    except (TypeError, ValueError, OverflowError):
        pass
    raise Wrong(f"{where} is not a number")


def _bytes(value: Any, where: str) -> bytes:
    try:
        padded = value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4)
        return base64.b64decode(padded, altchars="-_" if "-" in padded or "_" in padded else None, validate=True)
    except (AttributeError, ValueError):
        raise Wrong(f"{where} is not base64") from None


def enum(value: Any, where: str, names: Mapping[str, int]) -> int:
    if isinstance(value, str) and value in names:
        return names[value]
    return whole(value, where, -(2**31), 2**31 - 1)


def attributes(target: Any, given: Any, where: str, depth: int = 0) -> None:
    for attribute in items(given, where):
        key = text(attribute.get("key"), f"{where}.key")
        try:
            _value(target.add(key=key).value, attribute.get("value"), where, depth)
        except Wrong as error:
            error.sample = error.sample if depth else key  # the name, never the value: it may be a secret
            raise


def _value(target: Any, given: Any, where: str, depth: int) -> None:
    if given is None:
        return
    if not isinstance(given, dict):
        raise Wrong(f'{where}: a value is not an object such as {{"stringValue": "…"}}')
    target.SetInParent()  # an empty value is not an absent one
    for key, value in given.items():
        if value is None:
            continue
        match key:
            case "stringValue" | "string_value":
                target.string_value = text(value, f"{where}: stringValue")
            case "boolValue" | "bool_value":
                target.bool_value = _bool(value, f"{where}: boolValue")
            case "intValue" | "int_value":
                target.int_value = whole(value, f"{where}: intValue", -(2**63), 2**63 - 1)
            case "doubleValue" | "double_value":
                target.double_value = _double(value, f"{where}: doubleValue")
            case "bytesValue" | "bytes_value":
                target.bytes_value = _bytes(value, f"{where}: bytesValue")
            case "arrayValue" | "array_value":
                target.array_value.SetInParent()
                for one in _nested(value, where, depth):
                    _value(target.array_value.values.add(), one, where, depth + 1)
            case "kvlistValue" | "kvlist_value":
                target.kvlist_value.SetInParent()
                attributes(target.kvlist_value.values, _nested(value, where, depth), where, depth + 1)


def _nested(given: Any, where: str, depth: int) -> list[Any]:
    if depth >= DEEPEST:
        raise Wrong(f"{where}: a value is nested deeper than {DEEPEST} levels")
    if not isinstance(given, dict):
        raise Wrong(f'{where}: a list is not an object such as {{"values": […]}}')
    values = given.get("values")
    if values is not None and not isinstance(values, list):
        raise Wrong(f"{where}: values is not a list")
    return values or []
