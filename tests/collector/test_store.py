"""What the collector stores: once, whole, and the right copy of two."""

import itertools
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from collector.store import HOUR_NS, MOST_EMITTERS, OTHER
from schemas.spans import Decoded, Intake, Refusal
from tests.database import Database, NewDatabase
from tests.spans import ERROR, HASH_KEY, NOW_NS, decoded, request, span, tool_span
from tests.tables import sentences


def spans(database: Database) -> list[dict[str, Any]]:
    return database.rows("SELECT * FROM tool_span ORDER BY trace_id, span_id")


def places(database: Database) -> list[dict[str, Any]]:
    return database.rows("SELECT * FROM ancestry ORDER BY trace_id, span_id")


def test_a_tool_span_is_its_row(database: Database) -> None:
    given = decoded(tool_span(parent=7, status=ERROR, message="boom"))
    database.store.insert([given], NOW_NS)
    assert [tuple(row.values()) for row in spans(database)] == [tuple(span) for span in given.tool_spans]


def test_a_place_is_its_row_and_not_kept_at_first(database: Database) -> None:
    given = decoded(span(number=2, parent=1, attributes={"http.status_code": 503, "error.type": "503"}))
    database.store.insert([given], NOW_NS)
    assert [tuple(row.values()) for row in places(database)] == [(*place, 0) for place in given.ancestors]


def test_a_trace_with_spans_of_either_kind_is_pending(database: Database) -> None:
    database.insert_together([tool_span(), span(number=2, parent=1), tool_span(trace="22" * 16), span(number=3, parent=4, trace="33" * 16)])
    rows = database.rows("SELECT trace_id, noted_ns FROM pending_trace ORDER BY trace_id")
    assert [(row["trace_id"].hex()[:2], row["noted_ns"]) for row in rows] == [("0a", NOW_NS), ("22", NOW_NS), ("33", NOW_NS)]


def test_the_note_of_a_waiting_trace_gets_a_new_version_with_every_insert_but_keeps_its_place(database: Database) -> None:
    database.insert(tool_span())
    [before] = database.rows("SELECT * FROM pending_trace")
    database.insert(tool_span(), now_ns=NOW_NS + 1)
    [after] = database.rows("SELECT * FROM pending_trace")
    assert after["version"] > before["version"]
    assert after["noted_ns"] == before["noted_ns"]


def test_a_copy_of_a_stored_span_changes_nothing(database: Database) -> None:
    database.insert(tool_span(), span(number=2, parent=1))
    before = spans(database), places(database)
    database.insert(tool_span(), span(number=2, parent=1), now_ns=NOW_NS + 10**9)
    assert (spans(database), places(database)) == before


def test_one_known_span_in_a_batch_costs_nothing_else(database: Database) -> None:
    database.insert(tool_span(number=1))
    database.insert(request(tool_span(number=1), tool_span(number=2), tool_span(number=3)))
    assert len(spans(database)) == 3


def test_a_span_of_another_trace_with_the_same_id_is_another_span(database: Database) -> None:
    database.insert(tool_span(), tool_span(trace="22" * 16))
    assert len(spans(database)) == 2


COPIES = {
    "the later end": (request(tool_span(seconds=1, status=ERROR)), request(tool_span(seconds=2))),
    "of equal ends the larger": (request(tool_span(message="long message")), request(tool_span(message="even longer message"))),
    "of equal ends and sizes always the same": (request(tool_span(attributes={"a": 1})), request(tool_span(attributes={"a": 2}))),
    "the same whatever the service": (request(tool_span(), service="a"), request(tool_span(), service="b")),
}


@pytest.mark.parametrize("together", [True, False], ids=["in one transaction", "one after the other"])
@sentences("copies", COPIES)
def test_of_two_copies_that_differ_one_wins_in_any_order(new_database: NewDatabase, copies: Any, together: bool) -> None:
    won = []
    for order in itertools.permutations([*copies, copies[0]]):
        database = new_database()
        if together:
            database.insert_together(order)
        else:
            database.insert(*order)
        won.append(spans(database))
    assert all(rows == won[0] for rows in won)
    assert len(won[0]) == 1


def test_the_copy_with_the_later_end_is_stored_whole(database: Database) -> None:
    first, second = decoded(tool_span("a", seconds=1)), decoded(request(tool_span("b", seconds=2), service="x"))
    database.store.insert([first], NOW_NS)
    database.store.insert([second], NOW_NS)
    assert [tuple(row.values()) for row in spans(database)] == [tuple(one) for one in second.tool_spans]


@sentences(
    "other",
    {
        "that ends later": {"seconds": 1},
        "that failed": {"status": ERROR},
        "of another name": {"name": "x"},
        "below another parent": {"parent": 9},
        "that started earlier": {"start": -0.1, "seconds": 0.3},
        "of another status code": {"attributes": {"http.status_code": 503}},
        "that went to another peer": {"attributes": {"peer.service": "x"}},
        "that carries a result": {"attributes": {"mcp.response.value": "[]"}},
    },
)
def test_of_two_places_that_differ_one_wins_in_any_order(new_database: NewDatabase, other: dict[str, Any]) -> None:
    copies = [span(number=2, parent=1), span(**{"number": 2, "parent": 1, **other})]
    one, two, both = new_database(), new_database(), new_database()
    one.insert(*copies)
    two.insert(*reversed(copies))
    both.insert_together([*copies, copies[0]])
    assert places(one) == places(two) == places(both)


def test_a_place_of_another_service_wins_in_any_order(new_database: NewDatabase) -> None:
    copies = [request(span(number=2, parent=1), service=service) for service in ("a", "b")]
    one, two = new_database(), new_database()
    one.insert(*copies)
    two.insert(*reversed(copies))
    assert places(one) == places(two)


def test_a_kept_place_stays_kept(database: Database) -> None:
    database.insert(span(number=2, parent=1))
    with database.engine.begin() as connection:
        connection.execute(text("UPDATE ancestry SET kept = TRUE"))
    database.insert(span(number=2, parent=1, seconds=5))
    assert [(row["kept"], row["end_ns"] - row["start_ns"]) for row in places(database)] == [(1, 5 * 10**9)]


def test_totals_are_counted(database: Database) -> None:
    bad = tool_span(number=8)
    bad.trace_id = bytes(16)
    database.insert(request(tool_span(number=1), tool_span(number=2), span(number=3), bad))
    database.insert(request(tool_span(number=1), tool_span(number=2, seconds=9), tool_span(number=4)))
    assert database.counters() == {
        "received_spans": 7,
        "tool_spans": 3,
        "ignored_spans": 1,
        "refused_spans": 1,
        "duplicate_spans": 1,
        "conflicting_spans": 1,
    }


def test_copies_within_one_batch_are_counted_too(database: Database) -> None:
    database.insert_together([tool_span(), tool_span(), tool_span(seconds=9)])
    found = database.counters()
    assert (found["tool_spans"], found["duplicate_spans"], found["conflicting_spans"]) == (1, 1, 1)


def test_intake_is_counted_by_hour_and_emitter(database: Database) -> None:
    database.insert(request(tool_span(), span(number=2), service="a", scope="s", version="1"), now_ns=NOW_NS)
    database.insert(request(tool_span(number=3), service="a", scope="s", version="1"), now_ns=NOW_NS + 5)
    database.insert(request(span("POST /", 4), service="b"), now_ns=NOW_NS + HOUR_NS)
    hour = NOW_NS - NOW_NS % HOUR_NS
    rows = database.rows("SELECT * FROM intake ORDER BY hour_ns")
    assert [tuple(row.values()) for row in rows] == [
        (hour, "a", "s", "1", 2, 1, 0, NOW_NS + 5, "GET /orders"),
        (hour + HOUR_NS, "b", "demo", "", 0, 1, 0, NOW_NS + HOUR_NS, "POST /"),
    ]


def test_emitters_beyond_what_an_hour_tells_apart_are_counted_together(database: Database) -> None:
    def intake(number: int) -> Intake:
        return Intake(f"service {number}", "", "", 1, 0, 0, "")

    crowd = Decoded(0, (), (), (), tuple(intake(number) for number in range(MOST_EMITTERS + 10)))
    database.store.insert([crowd], NOW_NS)
    database.store.insert([Decoded(0, (), (), (), (intake(3), intake(5000)))], NOW_NS)
    rows = {row["service"]: row["tool_spans"] for row in database.rows("SELECT service, tool_spans FROM intake")}
    assert len(rows) == MOST_EMITTERS + 1
    assert (rows["service 3"], rows[OTHER]) == (2, 11)


def test_refusals_are_kept_with_their_count_and_a_sample(database: Database) -> None:
    for now_ns, sample in ((1, "a"), (2, "b")):
        refusals = (Refusal("start time is 0", "docs-mcp", 2, sample), Refusal("start time is 0", "other", 1, sample))
        database.store.insert([Decoded(3, (), (), refusals, ())], now_ns)
    rows = database.rows("SELECT * FROM refusal ORDER BY service")
    assert [tuple(row.values()) for row in rows] == [
        ("start time is 0", "docs-mcp", 4, 1, 2, "b"),
        ("start time is 0", "other", 2, 1, 2, "b"),
    ]


def test_an_empty_batch_stores_nothing(database: Database) -> None:
    database.store.insert([], NOW_NS)
    database.store.insert([decoded(request())], NOW_NS)
    assert spans(database) == []


def test_a_batch_of_many_is_one_transaction(database: Database) -> None:
    many = [tool_span(number=number, trace=f"{number:032x}") for number in range(1, 1500)]
    places_too = [span(number=number, parent=1, trace=f"{number:032x}") for number in range(2000, 3500)]
    database.insert_together([request(*many, *places_too)])
    database.insert_together([request(*many, *places_too)])
    assert (len(spans(database)), len(places(database))) == (1499, 1500)
    assert database.counters()["duplicate_spans"] == 1499


def test_nothing_is_stored_of_a_batch_that_fails(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("DROP TABLE refusal"))
    bad = tool_span(number=2)
    bad.start_time_unix_nano = 0
    with pytest.raises(SQLAlchemyError):
        database.insert(request(tool_span(), bad))
    assert (spans(database), database.counters(), database.rows("SELECT * FROM pending_trace")) == ([], {}, [])


def test_the_key_of_the_hashes_is_made_once(new_database: NewDatabase) -> None:
    database = new_database()
    assert database.store.hash_key() == HASH_KEY
    with database.engine.begin() as connection:
        connection.execute(text("DELETE FROM meta WHERE name = 'hash_key'"))
    made = database.store.hash_key()
    assert len(made) == 32
    assert made == database.store.hash_key() != HASH_KEY
