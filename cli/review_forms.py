"""A review as Markdown and as CSV; names out of spans are neither marks of the one nor formulas of the other."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from dashboard.review_words import METHOD, NO_FAULT, NO_SUSPECT, NUMBERS, allowed, amount, budget, days, difference, mark, rate, share
from dashboard.text import visible
from dashboard.words import DASH, count, percent, span
from schemas.export import csv_cell
from schemas.reviewing import Note

_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>()#+-!|~&"})


def plain(text: object) -> str:
    """A text without any mark of Markdown or HTML, on one line."""
    return visible(str(text)).translate(_MARKS)


def markdown(record: Mapping[str, Any], notes: Sequence[Note]) -> str:
    """All sections of a review."""
    return "\n".join(_sections(record, notes)) + "\n"


def _sections(record: Mapping[str, Any], notes: Sequence[Note]) -> Iterator[str]:
    data = record["numbers"]["data"]
    yield f"# Weekly reliability review {record['week']}"
    yield ""
    partial = " The week is not closed: numbers are partial." if record["partial"] else ""
    yield (
        f"{record['zone']}, {record['start']} to {record['end']}, {record['hours']} hours.{partial} Revision {record['revision']}. "
        f"Calls in {count(data['with_calls'])} of {count(data['quarters'])} quarters of an hour; "
        f"late data is in until {_utc(data['cut_ns'])}."
    )
    yield from _table("Five numbers", ("", "this week", "", "last week", "median of 4 weeks", "mark"), _numbers(record))
    slo = ("server", "tool", "target", "good of total", "budget", "used", "by incidents", "4 weeks", "4-week budget lasts")
    yield from _table("Service levels", slo, map(_slo, record["slo"]), "No operation.")
    changes = record["changes"]
    for title, rows in (("Regressions", changes["regressions"]), ("Improvements", changes["improvements"])):
        yield from _table(title, _CHANGE, map(_change, rows), "None significant.")
    for pair in changes["mixed"]:
        yield from _table("One share fell while the other rose", _CHANGE, map(_change, pair))
    for title, rows in (("New", changes["new"]), ("Gone", changes["gone"])):
        if rows:
            yield from _table(title, ("server", "tool", "calls"), ([server, tool, count(calls)] for server, tool, calls in rows))
    pareto = ("category", "server", "tool", "failures", "share", "cumulative", "wasted retries of the tool", "missed")
    yield from _table("Causes of most failures", pareto, map(_cause, record["pareto"]["rows"]), "No call failed.")
    incidents = ("kind", "server", "tool", "began", "found after", "resolved", "attempts", "an operation", "budget", "post-mortem")
    yield from _table("Incidents", incidents, map(_incident, record["incidents"]), "No storm, and no loop.")
    suspects = ("class", "server", "tool", "what was seen", "next")
    yield from _table("Suspects of silent suppression", suspects, map(_suspect, record["suspects"]), NO_SUSPECT)
    contract = ("server", "tool", "failures", "missing", "what to change")
    faults = ([*row] for one in record["contract"] for row in _faults(one))
    yield from _table("What errors say", contract, faults, NO_FAULT)
    alerts = ("rule", "fired", "acknowledged", "over by themselves", "flapping")
    rules = ([one[name] for name in ("rule", "fired", "acknowledged", "alone", "flapping")] for one in record["alert_quality"]["rules"])
    yield from _table("Alerts", alerts, rules, "None fired.")
    actions = (
        [one["text"], one["owner"], one["due"] or DASH, one["week"], "open" if one["closed_ns"] is None else "closed"]
        for one in record["actions"]
    )
    yield from _table("Action items", ("what", "owner", "due", "since", "state"), actions, "None.")
    yield from _table("Notes", ("who", "when", "note"), ([one.who, _utc(one.at_ns), one.text] for one in notes), "None.")
    yield from ("", "## How this was counted", "", *(f"- {line}" for line in METHOD))


_CHANGE = ("server", "tool", "share of", "mark", "this week", "last week", "difference")


def _table(title: str, header: Sequence[str], rows: Any, nothing: str = "") -> Iterator[str]:
    listed = list(rows)
    yield from ("", f"## {title}", "")
    if not listed:
        yield nothing
        return
    yield f"| {' | '.join(header)} |"
    yield f"|{'---|' * len(header)}"
    for row in listed:
        yield f"| {' | '.join(map(plain, row))} |"


def _numbers(record: Mapping[str, Any]) -> Iterator[list[str]]:
    for name, label in NUMBERS.items():
        one = record["numbers"][name]
        beside = rate(one) if one["of"] is None else share(one["of"])
        yield [label, amount(one), beside, amount(one, "last_week"), amount(one, "median"), mark(one["mark"])]


def _change(one: Mapping[str, Any]) -> list[str]:
    return [one["server"], one["tool"], one["measure"], mark(one["mark"]), share(one["now"]), share(one["before"]), difference(one)]


def _slo(one: Mapping[str, Any]) -> list[str]:
    used = (budget(one[name]) for name in ("used", "used_by_incidents", "burn_4_weeks"))
    good = f"{count(one['good'])} of {count(one['total'])}"
    return [one["server"], one["tool"], percent(one["target"]), good, allowed(one["budget"]), *used, days(one["days_left"])]


def _cause(one: Mapping[str, Any]) -> list[str]:
    counts = (count(one["count"]), percent(one["share"]), percent(one["cumulative"]), count(one["wasted"]), count(one["missed"]))
    return [one["category"], one["server"], one["tool"], *counts]


def _incident(one: Mapping[str, Any]) -> list[str]:
    amplified = DASH if one["amplification"] is None else f"{one['amplification']:.2f}"
    resolved = "not yet" if one["resolved_ns"] is None else _utc(one["resolved_ns"])
    when = (_utc(one["start_ns"]), span(one["detected_ns"] - one["start_ns"]), resolved)
    due = "due" if one["post_mortem"] else "no"
    return [one["kind"], one["server"], one["tool"], *when, count(one["attempts"]), amplified, budget(one["budget_share"]), due]


def _suspect(one: Mapping[str, Any]) -> list[str]:
    return [one["class"], one["server"], one["tool"], " ".join(signal["says"] for signal in one["signals"]), one["next_step"]]


def _faults(one: Mapping[str, Any]) -> Iterator[list[str]]:
    for fault in one["findings"]:
        if fault["k"] < fault["n"]:
            missing = f"{fault['id'].replace('_', ' ')}: {fault['k']} of {fault['n']}"
            yield [one["server"], one["tool"], count(one["failures"]), missing, fault["change"]]


def _utc(ns: int) -> str:
    return datetime.fromtimestamp(ns // 10**9, UTC).strftime("%Y-%m-%d %H:%M UTC")


def table(record: Mapping[str, Any]) -> str:
    """Every number of a review as a line of CSV: section, server, tool, name, value."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("week", "zone", "revision", "section", "server", "tool", "name", "value"))
    about = (record["week"], record["zone"], record["revision"])
    for section, server, tool, name, value in _cells(record):
        writer.writerow([visible(str(csv_cell(cell)), keep="\n\t") for cell in (*about, section, server, tool, name, value)])
    return out.getvalue()


def _cells(record: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str, Any]]:
    for name in NUMBERS:
        for key, value in record["numbers"][name].items():
            if key == "of":
                yield from (("numbers", "", "", f"{name}.{part}", number) for part, number in (value or {}).items())
            else:
                yield "numbers", "", "", f"{name}.{key}", value
    for key, value in record["numbers"]["data"].items():
        yield "data", "", "", key, value
    changes = [
        *record["changes"]["regressions"],
        *record["changes"]["improvements"],
        *(one for pair in record["changes"]["mixed"] for one in pair),
    ]
    for one in changes:
        for key in ("mark", "difference", "low", "high", "q"):
            yield "changes", one["server"], one["tool"], f"{one['measure']}.{key}", one[key]
    for section, rows in (("slo", record["slo"]), ("pareto", record["pareto"]["rows"]), ("incidents", record["incidents"])):
        for place, one in enumerate(rows, 1):
            for key, value in one.items():
                if key not in ("server", "tool"):
                    yield section, one["server"], one["tool"], key if section == "slo" else f"{place}.{key}", value
    for one in record["suspects"]:
        yield "suspects", one["server"], one["tool"], "class", one["class"]
    for one in record["contract"]:
        yield from (("contract", one["server"], one["tool"], fault["id"], f"{fault['k']} of {fault['n']}") for fault in one["findings"])
    for one in record["alert_quality"]["rules"]:
        yield from (("alert_quality", "", "", f"{one['rule']}.{key}", one[key]) for key in ("fired", "acknowledged", "alone", "flapping"))
    for one in record["actions"]:
        yield from (("actions", "", "", f"{one['id']}.{key}", one[key]) for key in ("week", "text", "owner", "due", "closed_by"))
