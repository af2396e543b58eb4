"""A lease is had by one at a time, and by the next once it is given back or its time is over."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from collector.leases import Leases
from tests.database import Database
from tests.tables import sentences


@pytest.fixture
def one(database: Database) -> Leases:
    return Leases(database.engine, "one")


@pytest.fixture
def other(database: Database) -> Leases:
    return Leases(database.engine, "other")


@sentences(
    "now_ns, had",
    {
        "as long as it lasts, nobody else has it": (199, False),
        "from its last moment on, whoever comes first has it": (200, True),
        "a holder that died long ago is no obstacle": (10**18, True),
    },
)
def test_a_lease_lasts_until_its_time(one: Leases, other: Leases, now_ns: int, had: bool) -> None:
    assert one.take("retention", 100, 200)
    assert other.take("retention", now_ns, now_ns + 100) is had
    assert one.take("retention", now_ns, now_ns + 100) is not had


def test_the_holder_renews_it_as_often_as_it_likes(one: Leases, other: Leases) -> None:
    for now_ns in range(100, 1000, 50):
        assert one.take("retention", now_ns, now_ns + 100)
        assert not other.take("retention", now_ns, now_ns + 100)


def test_what_is_given_back_is_free_at_once_and_nothing_else_is(one: Leases, other: Leases) -> None:
    assert one.take("retention", 100, 200)
    assert other.take("alerting", 100, 200)
    one.release()
    one.release()
    assert other.take("retention", 100, 200)
    assert not one.take("alerting", 100, 200)


def test_of_many_at_once_one_has_it(database: Database) -> None:
    with ThreadPoolExecutor(8) as pool:
        had = pool.map(lambda number: Leases(database.engine, f"worker {number}").take("retention", 100, 200), range(32))
    assert sum(had) == 1
