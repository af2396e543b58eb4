"""What thirty instrumentations really emit (tests/payloads), and how faithfully the calls made of it tell what really happened.

Every fact of every call is `right`; `unknown`, an honest unknown where the spans do not tell; `missed`, an unknown although they do;
or `wrong`: a claim that is not true, a call counted twice, lost or invented, a tool span that is part of no call.
"""

import base64
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.core import otlp_json, wire

PAYLOADS = Path(__file__).parent / "payloads"
# A little after the captures were made, the same for all.
RECEIVED_NS = 1_796_052_000 * 10**9

CallRecord = Mapping[str, Any]


@cache
def captures() -> Mapping[str, tuple[ExportTraceServiceRequest, ...]]:
    """The trace requests of each capture by its name, as they were sent."""
    return {path.stem: tuple(_captured(path)) for path in sorted((PAYLOADS / "captures").glob("*.jsonl"))}


@cache
def requests() -> tuple[ExportTraceServiceRequest, ...]:
    """All trace requests of all captures, as they were sent."""
    return tuple(request for capture in captures().values() for request in capture)


def _captured(path: Path) -> Iterator[ExportTraceServiceRequest]:
    for line in path.read_text().splitlines():
        item = json.loads(line)
        if item.get("signal") == "traces" and "body" in item:
            body = base64.b64decode(item["body"])
            yield otlp_json.parse(body).request if "json" in (item["content_type"] or "") else wire.parse(body)


def single_spans(given: Iterable[ExportTraceServiceRequest]) -> Iterator[ExportTraceServiceRequest]:
    """The same spans in one request each."""
    for request in given:
        for resource_spans in request.resource_spans:
            for scope_spans in resource_spans.scope_spans:
                for span in scope_spans.spans:
                    single = ExportTraceServiceRequest()
                    resource = single.resource_spans.add()
                    resource.resource.CopyFrom(resource_spans.resource)
                    scope = resource.scope_spans.add()
                    scope.scope.CopyFrom(scope_spans.scope)
                    scope.spans.add().CopyFrom(span)
                    yield single


def shuffled(given: Iterable[ExportTraceServiceRequest], seed: int) -> list[ExportTraceServiceRequest]:
    """The requests in an order that depends on nothing but the seed."""
    found = list(given)
    random.Random(seed).shuffle(found)
    return found


def truth() -> Iterator[dict[str, Any]]:
    """What really happened in each scenario of each instrumentation."""
    return map(json.loads, (PAYLOADS / "truth.jsonl").read_text().splitlines())


@dataclass
class Score:
    """How many facts of each verdict, and what is not right."""

    totals: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def count(self, place: str, fact: str, verdict: str, detail: str) -> None:
        """Count one fact."""
        self.totals[verdict] += 1
        if verdict in ("wrong", "missed"):
            self.faults.append(f"{verdict} {place} {fact}: {detail}")


def score(calls: Sequence[CallRecord], skip: Iterable[str] = ()) -> Score:
    """Compare calls (see `record`) with the truth; facts of the kinds to `skip` are left out."""
    found, skipped = Score(), set(skip)
    by_span: dict[str, list[CallRecord]] = defaultdict(list)
    for call in calls:
        for span in call["spans"]:
            by_span[f"{call['trace_id']}/{span}"].append(call)
    known: set[str] = set()
    for row in truth():
        place = f"{row['set']} {row['scenario']}"
        known.update(row["spans"])
        mine = {id(call): call for span in row["spans"] for call in by_span.get(span, ())}
        for fact, verdict, detail in _scenario(row, list(mine.values())):
            if fact not in skipped:
                found.count(place, fact, verdict, detail)
        lost = [span for span in row["spans"] if span not in by_span]
        if row["calls"] and lost:
            found.count(place, "spans", "wrong", f"{len(lost)} tool spans are part of no call, {lost[0]}")
    for call in calls:
        if not any(f"{call['trace_id']}/{span}" in known for span in call["spans"]):
            found.count("(no scenario)", "count", "wrong", f"a call that never was: {call['tool']} {call['trace_id']}")
    return found


def record(row: Mapping[str, Any]) -> dict[str, Any]:
    """What scoring reads of a row of the table `call`."""
    return {
        "trace_id": row["trace_id"].hex(),
        "spans": [view["span_id"] for view in json.loads(row["views"])],
        **{name: row[name] for name in ("start_ns", "tool", "outcome", "emptiness", "category", "link")},
        "retryable": None if row["retryable"] is None else bool(row["retryable"]),
        "failed_children": json.loads(row["failed_children"]),
    }


def _judge(claim: Any, true: Any, unknown: set[Any], tellable: bool) -> str:
    if claim == true:
        return "right"
    if claim in unknown:
        return "missed" if tellable else "unknown"
    return "wrong"


def _in_told_order(calls: Sequence[CallRecord], outcomes: Sequence[str]) -> tuple[list[CallRecord], bool]:
    """Calls by start; where clocks are equal the order is not told, so the outcomes are matched as a set. Also whether any were equal."""
    ordered: list[CallRecord] = []
    rest = list(outcomes)
    starts = sorted({call["start_ns"] for call in calls})
    for start in starts:
        same = [call for call in calls if call["start_ns"] == start]
        want, rest = rest[: len(same)], rest[len(same) :]
        for outcome in want:
            hit = next((call for call in same if call["outcome"] == outcome), same[0])
            same.remove(hit)
            ordered.append(hit)
        ordered += same
    return ordered, len(starts) < len(calls)


def _scenario(row: Mapping[str, Any], calls: Sequence[CallRecord]) -> Iterator[tuple[str, str, str]]:
    """Fact, verdict and detail for the calls of one scenario."""
    expected = row["calls"]
    right = expected <= len(calls) <= row["max_calls"]
    yield "count", "right" if right else "wrong", f"{len(calls)} calls, truth {expected}"
    if not calls or not expected:
        return
    # Client and server spans that nothing ties together: each half is judged with lenience.
    unlinked = len(calls) > expected
    outcomes = row["outcomes"]
    ordered, tied = _in_told_order(calls, outcomes if len(calls) == expected else [])
    for place, call in enumerate(ordered):
        true = outcomes[place] if len(calls) == expected else outcomes[min(place * expected // len(calls), expected - 1)]
        yield from _call(row, call, true, unlinked)
    yield from _together(row, ordered, unlinked, tied)


def _call(row: Mapping[str, Any], call: CallRecord, true: str, unlinked: bool) -> Iterator[tuple[str, str, str]]:
    if call["tool"] != row["tool"]:
        yield "tool", "wrong", f"{call['tool']} is not {row['tool']}"
    blind = {"success"} if true != "success" else set()
    if true == "cancelled" and not row["outcome_knowable"]:
        blind |= {"failure"}
    verdict = _judge(call["outcome"], true, blind, row["outcome_knowable"] and not unlinked)
    yield "outcome", verdict, f"{call['outcome']} is not {true}"
    if call["outcome"] in ("success", "partial") and true in ("success", "partial") and row["emptiness"]:
        verdict = _judge(call["emptiness"], row["emptiness"], {"unknown", None}, bool(row["emptiness_knowable"]) and not unlinked)
        yield "emptiness", verdict, f"{call['emptiness']} is not {row['emptiness']}"
    if call["outcome"] == "failure" and true == "failure" and row["category"]:
        category = call["category"] if call["category"] not in row.get("category_also", []) else row["category"]
        verdict = _judge(category, row["category"], {"unclassified", None}, bool(row["category_knowable"]) and not unlinked)
        yield "category", verdict, f"{call['category']} is not {row['category']}"
        if row["retryable"] is not None and verdict == "right":
            yield "retryable", _judge(call["retryable"], row["retryable"], {None}, True), f"{call['retryable']} is not {row['retryable']}"


def _together(row: Mapping[str, Any], ordered: Sequence[CallRecord], unlinked: bool, tied: bool) -> Iterator[tuple[str, str, str]]:
    links = [call["link"] for call in ordered][1:]
    scenario = row["scenario"]
    if scenario in ("09a", "09b") and not unlinked and not tied and all(call["outcome"] == "failure" for call in ordered[:2]):
        false = {"repeat", "concurrent"} & set(links)
        yield "retry", "wrong" if false else "right" if set(links) == {"retry"} else "missed", str(links)
    if scenario == "11":
        yield "retry", "wrong" if "retry" in links else "right", str(links)
    if scenario == "10" and row["failed_child"] and not unlinked:
        yield "failed child", "right" if any(call.get("failed_children") for call in ordered) else "missed", ""
