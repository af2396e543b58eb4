"""Operations as lists and one by one."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from dashboard.app import create_app
from dashboard.chain_queries import RECORD_KEYS
from schemas.settings import Settings
from tests.database import Database
from tests.retried import story
from tests.spans import SECOND_NS, START_NS
from tests.tables import sentences

RECOVERED, LONE, POLLED = (f"{number:032x}-{number:016x}" for number in (1, 7, 8))
ALL = {"from": "2026-11-23T09:00:00Z", "to": "2026-11-23T11:00:00Z"}


@pytest.fixture
def client(database: Database) -> Iterator[TestClient]:
    """The dashboard an hour after an operation that recovers, one that is missed, and some that went well at once."""
    database.take(*story())
    with TestClient(create_app(database.engine, Settings(), lambda: START_NS + 3600 * SECOND_NS)) as client:
        yield client


def test_an_operation_is_listed_with_how_it_ended(client: TestClient) -> None:
    found = client.get("/api/v1/chains", params=ALL).json()
    assert found["next"] is None
    [recovered, lone] = found["chains"]
    assert list(recovered) == list(RECORD_KEYS)
    assert {name: recovered[name] for name in ("chain_id", "state", "attempts", "strength", "first_category", "last_outcome")} == {
        "chain_id": RECOVERED,
        "state": "recovered",
        "attempts": 6,
        "strength": "same_arguments",
        "first_category": "transient",
        "last_outcome": "success",
    }
    # From 1.2 s to 70.2 s.
    assert (recovered["recovered_ns"], recovered["headless"], recovered["first_retryable"]) == (69 * SECOND_NS, False, True)
    assert (lone["chain_id"], lone["state"], lone["went_on"], lone["closes_ns"]) == (LONE, "missed", True, START_NS + 120_200_000_000)


def test_one_operation_tells_of_each_attempt(client: TestClient) -> None:
    found = client.get(f"/api/v1/chains/{RECOVERED}").json()
    assert found["chain"]["state"] == "recovered"
    assert found["next"] is None
    [first, second, *_, last] = found["attempts"]
    assert (first["place"], first["link"], first["gap_ns"], first["wasted"]) == (1, "new", None, None)
    assert (second["place"], second["attempt"], second["link_strength"], second["gap_ns"]) == (2, 2, "same_arguments", 800_000_000)
    assert (second["wasted"], second["early"], second["hot"]) == (False, False, False)
    assert (last["outcome"], last["category"], last["place"]) == ("success", None, 6)
    call = client.get(f"/api/v1/calls/{last['trace_id']}/{last['call_id']}").json()["call"]
    assert (call["chain_id"], call["outcome"]) == (RECOVERED, "success")


def test_a_call_that_went_well_at_once_is_an_operation_of_one_attempt(client: TestClient) -> None:
    found = client.get(f"/api/v1/chains/{POLLED}").json()
    assert (found["chain"]["state"], found["chain"]["attempts"], found["chain"]["tool"]) == ("ended", 1, "list")
    assert [attempt["place"] for attempt in found["attempts"]] == [1]


def test_attempts_that_have_aged_out_are_missed_but_not_forgotten(client: TestClient, database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text("DELETE FROM call WHERE start_ns < :time"), {"time": START_NS + 3 * SECOND_NS})
    found = client.get(f"/api/v1/chains/{RECOVERED}").json()
    assert (found["chain"]["attempts"], [attempt["place"] for attempt in found["attempts"]]) == (6, [3, 4, 5, 6])


@sentences(
    "name",
    {
        "a retry names no operation, the first attempt does": f"{2:032x}-{2:016x}",
        "a call that there is not": f"{99:032x}-{99:016x}",
        "what is no name": "x",
        "a name in capitals": RECOVERED.replace("0", "A"),
        "half a name": f"{1:032x}",
    },
)
def test_there_is_no_such_operation(client: TestClient, name: str) -> None:
    answer = client.get(f"/api/v1/chains/{name}")
    assert answer.status_code == 404
    assert "There is no such operation." in answer.json()["problems"][0]


@sentences(
    "query, problem",
    {
        "a state that there is not": ("state=lost", "“state” is one of "),
        "a cursor that nobody gave": ("cursor=x.y", "The cursor is not one that this program gave."),
        "a cursor beyond time": (f"cursor={2**64}.{RECOVERED}", "The cursor is not one that this program gave."),
        "too many at once": ("limit=1001", "“limit” takes a whole number from 1 to 1000."),
    },
)
def test_a_list_that_cannot_be_is_refused_in_words(client: TestClient, query: str, problem: str) -> None:
    answer = client.get(f"/api/v1/chains?{query}")
    assert answer.status_code == 400
    assert answer.json()["problems"][0].startswith(problem)


def test_an_operation_has_no_filters(client: TestClient) -> None:
    assert client.get(f"/api/v1/chains/{RECOVERED}?tool=search").status_code == 400
    assert client.get(f"/api/v1/chains/{RECOVERED}?after=x").status_code == 400


def test_the_list_comes_as_csv(client: TestClient) -> None:
    rows: list[dict[str, Any]] = list(csv.DictReader(io.StringIO(client.get("/api/v1/chains", params=ALL | {"format": "csv"}).text)))
    assert [(row["chain_id"], row["state"], row["attempts"], row["headless"]) for row in rows] == [
        (RECOVERED, "recovered", "6", "false"),
        (LONE, "missed", "1", "false"),
    ]


def test_the_api_describes_retries_and_operations(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {"/api/v1/retries", "/api/v1/chains", "/api/v1/chains/{chain_id}"} <= set(paths)
