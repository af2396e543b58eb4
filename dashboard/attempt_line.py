"""Where the attempts of an operation stand on its time line: start and length of each bar, and the pause before it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_THINNEST = 0.6


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt as a bar: `left` and `width` of it, `pause_left` and `pause_width` of the wait before it, in percent of the line."""

    record: Mapping[str, Any]
    left: float
    width: float
    pause_left: float
    pause_width: float


def attempts(records: Sequence[Mapping[str, Any]]) -> tuple[Attempt, ...]:
    """The bars of a page of attempts, in their order; the line reaches from the first start to the last end."""
    if not records:
        return ()
    start: int = min(record["start_ns"] for record in records)
    end: int = max(record["start_ns"] + (record["duration_ns"] or 0) for record in records)
    length = max(1, end - start)

    def share(ns: float) -> float:
        return round(min(100.0, max(0.0, ns / length * 100)), 2)

    found = []
    for record in records:
        left = min(100 - _THINNEST, share(record["start_ns"] - start))
        width = max(_THINNEST, min(100 - left, share(record["duration_ns"] or 0)))
        pause = share(max(0, record["gap_ns"] or 0))
        found.append(Attempt(record, left, round(width, 2), round(max(0.0, left - pause), 2), round(min(left, pause), 2)))
    return tuple(found)
