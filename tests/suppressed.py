"""Fleets of calls that suppress failures in known ways, or do not: rows for the worker's eyes."""

from collections.abc import Iterator
from random import Random
from typing import Any

import orjson

from tests import seeds

SECOND_NS, MINUTE_NS, HOUR_NS, DAY_NS = (seconds * 10**9 for seconds in (1, 60, 3_600, 86_400))
# A whole stretch of five minutes: what is looked at ends here.
END_NS = seeds.NOW_NS - seeds.NOW_NS % (300 * SECOND_NS)
START_NS = END_NS - 7 * DAY_NS


def child(**changes: Any) -> dict[str, Any]:
    """A failed span inside a call, as calls keep it."""
    return {
        "span_id": "b7ad6b7169203331", "name": "GET /orders", "service": "orders", "error_type": "503", "http_status": 503,
        "peer": "db:80", "recovered": False,
    } | changes  # fmt: skip


def inside(*children: dict[str, Any]) -> str:
    """The column of failed spans."""
    return orjson.dumps(children).decode()


class Calls:
    """Makes rows of calls; numbers count up, so that everything is the same each time."""

    def __init__(self, seed: int = 1) -> None:
        self.rows: list[dict[str, Any]] = []
        self.random = Random(seed)

    def add(self, start_ns: int, **changes: Any) -> None:
        """One call: a success with data unless the changes say otherwise."""
        given = {"start_ns": start_ns, "duration_ns": 100_000_000} | changes
        if given.get("outcome", "success") == "success":
            given.setdefault("emptiness", "data")
        self.rows.append(seeds.call(len(self.rows) + 1, **given))

    def steady(self, calls: int, from_ns: int = START_NS, to_ns: int = END_NS, minutes: int = 120) -> Iterator[int]:
        """Starts of so many calls in so many minutes, spread evenly: to count a minute ahead costs more than a call."""
        minutes = min(minutes, calls)
        for number in range(calls):
            at = number * minutes // calls
            start = from_ns + (to_ns - from_ns) * at // minutes
            yield start - start % MINUTE_NS + (number * minutes % calls) * MINUTE_NS // calls

    def likely(self, share: float) -> bool:
        """True in a share of all times."""
        return self.random.random() < share
