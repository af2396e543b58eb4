"""The past read in bulk says what the database says, wherever a window lies, and also where minutes are no longer kept."""

import pytest

from collector.alert_counts import MINUTE_NS, AlertCounts, Table
from collector.work.past import BEFORE_NS, BLOCK_NS, PastCounts
from schemas.alerting import HOUR_NS, SECOND_NS
from schemas.rollups import cover
from tests.alerting import Fleet, steady
from tests.database import Database
from tests.spans import START_NS, request
from tests.tables import sentences

END_NS = START_NS + 90 * MINUTE_NS


@pytest.fixture
def filled(database: Database) -> Database:
    """An hour and a half of two tools, one of which fails for a while."""
    fleet = Fleet()
    steady(fleet, 0, 5400, 40, down=lambda now: 1800 <= now < 2400)
    steady(fleet, 0, 5400, 70, down=lambda _: False, tool="list_orders")
    database.insert(request(*(one.span for one in fleet.sent), service="shop"), now_ns=END_NS)
    database.settle(END_NS)
    return database


def summed(rows: Table) -> dict[int, tuple[int, ...]]:
    """Sums by series, those without any left out."""
    found: dict[int, tuple[int, ...]] = {}
    for series_id, *counts in rows.tolist():
        found[series_id] = tuple(map(sum, zip(found.get(series_id, (0,) * len(counts)), counts, strict=True)))
    return {series_id: counts for series_id, counts in found.items() if any(counts)}


@sentences(
    "from_ns, to_ns",
    {
        "a minute": (END_NS - MINUTE_NS, END_NS),
        "some minutes": (START_NS + 28 * MINUTE_NS, START_NS + 33 * MINUTE_NS),
        "everything": (START_NS - START_NS % HOUR_NS, END_NS),
        "much more than is read at once": (END_NS - BEFORE_NS - 50 * HOUR_NS, END_NS),
        "before everything": (START_NS - 80 * HOUR_NS, START_NS - 70 * HOUR_NS),
        "a day that ends later": (END_NS - 24 * HOUR_NS, END_NS + MINUTE_NS),
    },
)
@pytest.mark.parametrize("pruned", [False, True], ids=["minutes are kept", "the first minutes are gone"])
def test_sums_are_those_of_the_database(filled: Database, from_ns: int, to_ns: int, pruned: bool) -> None:
    from_ns, to_ns = from_ns - from_ns % MINUTE_NS, to_ns - to_ns % MINUTE_NS
    if pruned:
        with filled.engine.begin() as connection:
            for table in ("rollup", "retry_rollup"):
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE width_s = 60 AND bucket_ns < {START_NS + 30 * MINUTE_NS}")
    plain, past = AlertCounts(filled.engine), PastCounts(filled.engine)
    past.at(END_NS)
    pieces = cover(from_ns, to_ns)
    assert summed(past.retry_table(pieces)) == summed(plain.retry_table(pieces))
    assert summed(past.call_table(pieces)) == summed(plain.call_table(pieces))
    series = sorted(summed(plain.retry_table(cover(START_NS - START_NS % HOUR_NS, END_NS + HOUR_NS - END_NS % HOUR_NS))))
    assert series
    for some in (series, series[:1], [10**6], []):
        found = past.retry_minutes(some, from_ns + SECOND_NS, to_ns)
        assert [row for row in found if any(row[1:])] == [
            row for row in plain.retry_minutes(some, from_ns + SECOND_NS, to_ns) if any(row[1:])
        ]


def test_it_goes_forward_block_by_block(filled: Database) -> None:
    plain, past = AlertCounts(filled.engine), PastCounts(filled.engine)
    for now_ns in range(START_NS - BLOCK_NS, END_NS + 2 * BLOCK_NS, 7 * HOUR_NS):
        past.at(now_ns)
        pieces = cover(now_ns - now_ns % MINUTE_NS - HOUR_NS, now_ns - now_ns % MINUTE_NS + MINUTE_NS)
        assert summed(past.retry_table(pieces)) == summed(plain.retry_table(pieces))
