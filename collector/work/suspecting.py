"""Which tools report failures as empty successes, in a range of time: reads what the signals need, tool by tool."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import orjson

from collector.core.suppression.answers import REMEMBERED_NS, Answer, Repeat, look_for_disbelief, look_for_lost
from collector.core.suppression.bunching import look_for_bunch
from collector.core.suppression.chance import Looked
from collector.core.suppression.children import Answers, Hiding, hidden, look_inside
from collector.core.suppression.classes import Case, Place, suspects
from collector.core.suppression.rises import Step, look_for_rise
from collector.core.suppression.siblings import Course, Marks, bad, look_beside, look_for_luck, others, together
from collector.series import Series
from collector.suppression_counts import STRETCH_NS, SuppressionCounts, call_name
from schemas.calls import FailedChild
from schemas.histogram import unpack
from schemas.rollups import MINUTE_S, OTHER_TOOLS, SECOND_NS, cover
from schemas.suppression import Q2, Q4, ByDesign, Signal, Suspect

MINUTE_NS, HOUR_NS = MINUTE_S * SECOND_NS, 3_600 * SECOND_NS
COMPLETED = ("success", "partial", "failure")
# Answers that are looked at one by one, of all tools together: a quarter of a day's newest at a time, so that no hour is left out.
MOST_ANSWERS, LEAST_AT_ONCE, MOST_AT_ONCE = 200_000, 20, 500
PIECE_NS = 6 * HOUR_NS
# Fewer empties or answers with data cannot be ten questions of which enough lost their answer.
LEAST_EMPTIES, LEAST_DATA = 3, 10
# Tools whose answers are looked at one by one, those with most empties.
MOST_TOOLS = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of all tools at once. `grid` holds the starts of the stretches of five minutes."""

    grid: Sequence[int]
    courses: Mapping[Place, Course]
    before: Mapping[Place, Step]
    durations: Mapping[Place, Mapping[str, list[bytes]]]
    hiding: Mapping[Place, list[Hiding]]
    repeats: Mapping[Place, list[Repeat]]
    answers: Mapping[Place, list[Answer]]


def find_suspects(reader: SuppressionCounts, start_ns: int, end_ns: int, now_ns: int) -> list[Suspect]:
    """The tools that may report failures as empty successes in a range, the surest first; marks that hold at `now_ns` are on them.

    Range: of whole minutes; counts by the minute must be there still. Raises SQLAlchemyError.
    """
    seen = _see(reader, start_ns, end_ns)
    marks = {(mark.server, mark.tool): mark for mark in (ByDesign(*row) for row in reader.marks(now_ns))}
    by_server: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for place in seen.courses:
        by_server[place.environment, place.server].append(place)
    cases, stretches = [], {}
    for places in by_server.values():
        whole = together([seen.courses[place] for place in places])
        for place in places:
            siblings = others(whole, seen.courses[place])
            stretches[place] = bad(siblings)
            cases.append(_case(place, seen, siblings, stretches[place], [one for one in places if one != place], start_ns))
    return [_with_examples(reader, suspect, seen, stretches) for suspect in suspects(cases, marks)]


def _case(place: Place, seen: Seen, siblings: Course, stretches: Marks, places: Sequence[Place], start_ns: int) -> Case:
    """All signals of one tool."""
    course = seen.courses[place]
    empty, data = int(course.empty.sum()), int(course.data.sum())
    hiding = [one for other in places for one in seen.hiding.get(other, ()) if one.emptiness == "data" and hidden(one.children)]
    histograms = {name: unpack(packed) for name, packed in seen.durations.get(place, {}).items()}
    steps = [Step(int(course.empty[at]), int(course.known[at]), seen.grid[at]) for at in np.flatnonzero(course.known).tolist()]
    tests: list[Looked | None] = [
        look_inside(Answers(empty, data), seen.hiding.get(place, ()), Answers(0, int(siblings.data.sum())), len(hiding)),
        look_for_bunch(histograms.get("empty", {}), histograms.get("data", {})),
        look_beside(course, stretches),
        look_for_rise(steps, seen.before.get(place, Step(0, 0))),
        look_for_luck(course, siblings, stretches),
        look_for_lost(seen.answers.get(place, ()), start_ns),
        look_for_disbelief(empty, data, seen.repeats.get(place, ())),
    ]
    return Case(place, tests, empty, empty + data, int(course.failure.sum()), int(course.completed.sum()))


def _see(reader: SuppressionCounts, start_ns: int, end_ns: int) -> Seen:
    series = {one.id: one for one in reader.series() if one.tool != OTHER_TOOLS}
    first_ns = start_ns - start_ns % STRETCH_NS
    grid = range(first_ns, end_ns, STRETCH_NS)
    courses = _courses(reader, series, grid, start_ns, end_ns)
    before: dict[Place, Step] = defaultdict(lambda: Step(0, 0))
    for series_id, calls in reader.sums(cover(2 * start_ns - end_ns, start_ns)):
        one = series.get(series_id)
        if one is not None and one.emptiness in ("empty", "data") and one.outcome == "success":
            known = before[_place(one)]
            before[_place(one)] = Step(known.empty + calls * (one.emptiness == "empty"), known.known + calls)
    durations: dict[Place, dict[str, list[bytes]]] = defaultdict(lambda: defaultdict(list))
    for series_id, packed in reader.durations(cover(start_ns, end_ns)):
        one = series.get(series_id)
        if one is not None and one.outcome == "success":
            durations[_place(one)][one.emptiness].append(packed)
    hiding: dict[Place, list[Hiding]] = defaultdict(list)
    for inner in reader.inner_failures(start_ns, end_ns):
        children = [FailedChild(**{**child, "span_id": bytes.fromhex(child["span_id"])}) for child in orjson.loads(inner.failed_children)]
        call = call_name(inner.trace_id, inner.call_id)
        where = Place(inner.environment, inner.server, inner.tool)
        hiding[where].append(Hiding(call, inner.session or inner.trace_id.hex(), inner.emptiness, children))
    repeats: dict[Place, list[Repeat]] = defaultdict(list)
    for again in reader.repeats(start_ns, end_ns):
        if again.before in ("empty", "data"):
            where = Place(again.environment, again.server, again.tool)
            repeats[where].append(Repeat(again.before == "empty", call_name(again.trace_id, again.call_id)))
    return Seen(grid, courses, before, durations, hiding, repeats, _answers(reader, courses, start_ns, end_ns))


def _courses(reader: SuppressionCounts, series: Mapping[int, Series], grid: range, start_ns: int, end_ns: int) -> dict[Place, Course]:
    def course() -> Course:
        return Course(*(np.zeros(len(grid), dtype=np.int64) for _ in Course.__slots__))

    courses: dict[Place, Course] = defaultdict(course)
    for series_id, bar_ns, calls in reader.by_stretch(start_ns, end_ns):
        one = series.get(series_id)
        if one is None or one.outcome not in COMPLETED:
            continue
        at, counted = (bar_ns - grid.start) // STRETCH_NS, courses[_place(one)]
        counted.completed[at] += calls
        if one.outcome == "failure":
            counted.failure[at] += calls
        elif one.outcome == "success" and one.emptiness in ("empty", "data"):
            (counted.empty if one.emptiness == "empty" else counted.data)[at] += calls
    return dict(courses)


def _answers(reader: SuppressionCounts, courses: Mapping[Place, Course], start_ns: int, end_ns: int) -> dict[Place, list[Answer]]:
    """Answers of the tools that have empties and data, some of each quarter of a day, from 7 days before the range on."""
    asked = {place: int(one.empty.sum()) for place, one in courses.items() if one.data.sum() >= LEAST_DATA}
    places = sorted((place for place in asked if asked[place] >= LEAST_EMPTIES), key=lambda place: (-asked[place], place))[:MOST_TOOLS]
    pieces = [(at, min(at + PIECE_NS, end_ns)) for at in range(start_ns - REMEMBERED_NS, end_ns, PIECE_NS)]
    most = min(MOST_AT_ONCE, max(LEAST_AT_ONCE, MOST_ANSWERS // (len(pieces) * max(1, len(places)))))
    return {
        place: [
            Answer(one.start_ns, one.arguments_hash, one.emptiness == "empty", call_name(one.trace_id, one.call_id))
            for one in reader.answers(place.server, place.tool, place.environment, pieces, most)
        ]
        for place in places
    }


def _with_examples(reader: SuppressionCounts, suspect: Suspect, seen: Seen, stretches: Mapping[Place, Marks]) -> Suspect:
    """The suspect with calls to look at for each signal that came of counts alone."""
    place = Place(suspect.environment, suspect.server, suspect.tool)
    return replace(
        suspect,
        signals=tuple(
            signal if signal.examples else replace(signal, examples=_examples(reader, place, signal, seen, stretches[place]))
            for signal in suspect.signals
        ),
    )


def _examples(reader: SuppressionCounts, place: Place, signal: Signal, seen: Seen, stretches: Marks) -> tuple[str, ...]:
    course = seen.courses[place]
    held = _starts(seen.grid, course.empty > 0)
    if signal.id == Q2:
        return reader.examples(place, held, durations=(signal.detail["from_ns"], signal.detail["to_ns"]))
    if signal.id == Q4:
        return reader.examples(place, [at for at in held if signal.detail["since_ns"] <= at <= signal.detail["until_ns"]])
    # Q3 and Q5: while its siblings failed; what was too good may hold data.
    empties = bool(course.empty[stretches].any())
    told = course.empty if empties else course.completed
    return reader.examples(place, _starts(seen.grid, stretches & (told > 0)), "empty" if empties else None)


def _starts(grid: Sequence[int], marks: Marks) -> list[int]:
    return [grid[at] for at in np.flatnonzero(marks).tolist()]


def _place(series: Series) -> Place:
    return Place(series.environment, series.server, series.tool)
