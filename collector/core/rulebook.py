"""How a file of rules is read; what is wrong is said with the line it is on."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from collector.core.ratios import parse
from schemas.alerting import (
    BURN,
    CUSTOM,
    EMPTY_RISE,
    HIDDEN,
    INFO,
    KINDS,
    LOOP,
    PAGE,
    SEVERITIES,
    SILENCE,
    STORM,
    SUSPECTS,
    TELEMETRY,
    TICKET,
    WARN,
    Rule,
)
from schemas.suppression import CLASSES, PROBABLE

_MORE = {LOOP: {"read_only"}, BURN: {"slo_of", "charged"}, SUSPECTS: {"least"}, CUSTOM: {"when"}}
_COMMON = {"kind", "severity", "for", "keep_firing_for", "servers", "tools", "labels", "runbook_url"}
_NUMBERS: Mapping[str, Mapping[str, tuple[float, float]]] = {
    STORM: {"retries": (1, 1e6), "warn": (0, 1), "page": (0, 1), "chance": (0, 1), "sessions": (1, 1e6)},
    LOOP: {"warn": (2, 1e4), "alert": (2, 1e4), "read_only_times": (1, 1e3)},
    BURN: {"slo": (0.5, 0.999999)},
    EMPTY_RISE: {"points": (0, 1), "calls": (1, 1e6)},
    HIDDEN: {"points": (0, 1), "calls": (1, 1e6)},
    SUSPECTS: {},
    SILENCE: {},
    TELEMETRY: {},
    CUSTOM: {"recover": (0, 1e9)},
}
_WHOLE = frozenset({"retries", "sessions", "alert", "read_only_times", "calls"})
_SEVERITY = {
    STORM: PAGE,
    BURN: PAGE,
    LOOP: TICKET,
    EMPTY_RISE: TICKET,
    HIDDEN: INFO,
    SUSPECTS: TICKET,
    SILENCE: TICKET,
    TELEMETRY: TICKET,
    CUSTOM: WARN,
}
_TIME = re.compile(r"(\d+)(s|m|h|d)")
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


@dataclass(frozen=True, slots=True)
class RuleBook:
    """All rules, and what is common to them. `channels` are as the file has them (collector/core/channels.py reads them)."""

    rules: Sequence[Rule]
    environments: tuple[str, ...] = ("*",)
    repeat_s: int = 14_400
    channels: Mapping[str, Any] = field(default_factory=dict)


class RuleError(Exception):
    """A file of rules cannot be used; `problems` are pairs of line (0: the whole file) and sentence."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        super().__init__("; ".join(f"line {line}: {says}" if line else says for line, says in problems))
        self.problems = problems


def read_rules(text: str) -> RuleBook:
    """Read a file of rules. Raises RuleError with everything that is wrong."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        raise RuleError([(int(found[1]) if found else len(text.splitlines()), f"this is no TOML: {error}")]) from None
    problems: list[tuple[int, str]] = []
    lines = text.splitlines()
    for name in sorted(set(given) - {"environments", "repeat", "rules", "channels"}):
        problems.append((line_of(lines, None, name), f"`{name}` is not known here: there are environments, repeat, rules and channels"))
    rules = []
    tables = given.get("rules", {})
    for name, options in (tables if isinstance(tables, dict) else {}).items():
        rule = _rule(name, options, lines, problems)
        if rule is not None:
            rules.append(rule)
    environments = _texts(given.get("environments", ["*"]), "environments", line_of(lines, None, "environments"), problems)
    repeat_s = _time(given.get("repeat", "4h"), "repeat", line_of(lines, None, "repeat"), problems)
    if problems:
        raise RuleError(sorted(problems))
    return RuleBook(tuple(rules), environments, repeat_s, given.get("channels", {}))


def _rule(name: str, given: Any, lines: Sequence[str], problems: list[tuple[int, str]]) -> Rule | None:
    section = f"rules.{name}"

    def wrong(key: str, says: str) -> None:
        problems.append((line_of(lines, section, key), says))

    if not isinstance(given, dict) or not _NAME.fullmatch(name):
        wrong("", f"`{name}` is no rule: write [rules.NAME], NAME of letters, digits and _")
        return None
    kind = given.get("kind")
    if kind not in KINDS:
        wrong("kind", f"rule {name}: kind is one of {', '.join(KINDS)}")
        return None
    before = len(problems)
    severity = given.get("severity", _SEVERITY[kind])
    if severity not in SEVERITIES:
        wrong("severity", f"rule {name}: severity is one of {', '.join(SEVERITIES)}")
    for key in sorted(set(given) - _COMMON - set(_NUMBERS[kind]) - _MORE.get(kind, set())):
        wrong(key, f"rule {name}: a rule of kind {kind} has no `{key}`")
    options: dict[str, Any] = {}
    for key, (low, high) in _NUMBERS[kind].items():
        if key in given:
            value, whole = given[key], key in _WHOLE or (kind == LOOP and key == "warn")
            if isinstance(value, bool) or not isinstance(value, int if whole else int | float) or not low <= value <= high:
                wrong(key, f"rule {name}: {key} is a {'whole number' if whole else 'number'} from {low:g} to {high:g}")
            options[key] = value
    if {"warn", "page"} <= options.keys() and options["warn"] > options["page"]:
        wrong("warn", f"rule {name}: warn must not be above page")
    if {"warn", "alert"} <= options.keys() and options["warn"] > options["alert"]:
        wrong("warn", f"rule {name}: warn must not be above alert")
    for key in ("read_only", "charged"):
        if key in given:
            options[key] = _texts(given[key], f"rule {name}: {key}", line_of(lines, section, key), problems)
    if "slo_of" in given:
        levels = given["slo_of"]
        if not isinstance(levels, dict) or not all(isinstance(one, float) and 0.5 <= one < 1 for one in levels.values()):
            wrong("slo_of", f'rule {name}: slo_of is a table of tools and levels, as in {{ "orders-mcp/get_order" = 0.999 }}')
        options["slo_of"] = levels
    if kind == SUSPECTS:
        if severity == PAGE:
            wrong("severity", f"rule {name}: suspects are looked for once an hour and may be none: they never page")
        options["least"] = given.get("least", PROBABLE)
        if options["least"] not in CLASSES:
            wrong("least", f"rule {name}: least is one of {', '.join(CLASSES)}")
    if kind == CUSTOM:
        options = _threshold(name, given, wrong)
    labels = given.get("labels", {})
    if not isinstance(labels, dict) or not all(isinstance(one, str) and _NAME.fullmatch(key) for key, one in labels.items()):
        wrong("labels", f"rule {name}: labels are a table of names and texts")
    elif {"server", "tool"} & labels.keys():
        wrong("labels", f"rule {name}: server and tool are labels of every alert already")
    runbook = given.get("runbook_url", "")
    if not isinstance(runbook, str) or not re.match(r"(https?://|$)", runbook):
        wrong("runbook_url", f"rule {name}: runbook_url begins with https:// or http://")

    def read(reader: Callable[..., Any], key: str, default: Any) -> Any:
        return reader(given.get(key, default), f"rule {name}: {key}", line_of(lines, section, key), problems)

    times = [read(_time, key, "0s") for key in ("for", "keep_firing_for")]
    names = [read(_texts, key, ["*"]) for key in ("servers", "tools")]
    if len(problems) > before:
        return None
    return Rule(name, kind, severity, times[0], times[1], names[0], names[1], labels, runbook, options)


def _threshold(name: str, given: Mapping[str, Any], wrong: Callable[[str, str], None]) -> dict[str, Any]:
    if not isinstance(given.get("when"), str):
        wrong("when", f'rule {name}: `when` is missing, as in when = "ratio(outcome=failure) over 15m > 20% and calls >= 20"')
        return {}
    try:
        expression = parse(given["when"])
    except ValueError as error:
        wrong("when", f"rule {name}: {error}")
        return {}
    if "recover" in given:
        try:
            expression = expression.recovering_at(float(given["recover"]))
        except (TypeError, ValueError) as error:
            wrong("recover", f"rule {name}: {error}")
    return {"expression": expression, "when": given["when"]}


def _time(given: Any, name: str, line: int, problems: list[tuple[int, str]]) -> int:
    found = _TIME.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        problems.append((line, f'{name} is a time such as "90s", "10m", "4h" or "1d"'))
        return 0
    return int(found[1]) * _UNITS_S[found[2]]


def _texts(given: Any, name: str, line: int, problems: list[tuple[int, str]]) -> tuple[str, ...]:
    if not isinstance(given, list) or not given or not all(isinstance(one, str) for one in given):
        problems.append((line, f'{name} is a list of texts, as in ["*"]'))
        return ()
    return tuple(given)


def line_of(lines: Sequence[str], section: str | None, key: str) -> int:
    """On which line a key of a section stands (None: of no section), or the section where it has none; 0 if it is not found."""
    here, found = section is None, 0
    for number, line in enumerate(lines, 1):
        header = re.match(r"\s*\[+\s*([^\]]+?)\s*\]", line)
        if header:
            here = header[1].replace('"', "") == section
            found = number if here and section is not None else found
        elif here and key and re.match(rf"\s*\"?{re.escape(key)}\"?\s*[=.]", line):
            return number
    return found
