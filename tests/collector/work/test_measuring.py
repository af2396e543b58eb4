"""Totals for Prometheus out of the real counts: what came since the start, what is corrected, and what waits."""

from collections.abc import Iterator

import pytest
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError
from starlette.testclient import TestClient

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore
from collector.core.totals import ELSEWHERE, Place
from collector.metric_store import MetricStore
from collector.metrics import Work
from collector.work.measuring import Measuring
from collector.work.serving import STUCK_S, Serving
from schemas.alerting import HOUR_NS, MINUTE_NS, SECOND_NS
from tests.alerting import Fleet, Watched, steady
from tests.database import Database
from tests.spans import START_NS, request


def measuring(database: Database, most: int = 10) -> Measuring:
    return Measuring(AlertCounts(database.engine), AlertStore(database.engine), MetricStore(database.engine), most)


def take(database: Database, fleet: Fleet) -> None:
    database.insert(request(*(one.span for one in fleet.sent), service="shop"))
    database.settle()


def place_of(database: Database) -> Place:
    [row] = database.rows("SELECT DISTINCT environment, server, tool FROM call")
    return Place(**row)


def test_what_was_there_has_a_name_and_counts_as_nothing_what_comes_is_counted(database: Database) -> None:
    before, after = Fleet(), Fleet()
    steady(before, 0, 60, 5, down=lambda _: False)
    take(database, before)
    place = place_of(database)
    measure = measuring(database)
    measure.look(START_NS + 70 * SECOND_NS)
    assert measure.totals.places() == [place]
    assert measure.totals.of(place, "calls", "success") == 0
    after._numbers, after._traces = before._numbers, before._traces
    for number in range(3):
        after.operation(70 + number, [False, True], session=f"n{number}")
    after.operation(80, [False, False], session="n9", failure="permission")
    take(database, after)
    now_ns = START_NS + 400 * SECOND_NS
    measured = measure.look(now_ns)
    said = {word: measure.totals.of(place, "calls", word) for word in ("success", "failure")}
    assert said == {"success": 3, "failure": 5}
    assert measure.totals.of(place, "failures", "transient") == 3
    assert measure.totals.of(place, "failures", "permission") == 2
    assert measure.totals.of(place, "results", "unknown") == 3
    assert measure.totals.of(place, "retries") == 4
    assert measure.totals.of(place, "wasted_retries") == 1
    # Twelve began before the start, but had not been counted by then.
    assert measure.totals.of(place, "operations", "succeeded") == 3 + 12
    assert measure.totals.of(place, "operations", "failed") == 1
    assert measured.spans["tool_spans"] == 20


def test_operations_are_counted_once_their_retries_have_come(database: Database) -> None:
    measure = measuring(database)
    measure.look(START_NS)
    fleet = Fleet()
    fleet.operation(0, [False])
    take(database, fleet)
    measure.look(START_NS + 100 * SECOND_NS)
    place = place_of(database)
    assert measure.totals.of(place, "calls", "failure") == 1
    assert measure.totals.of(place, "operations", "failed") == 0
    measure.look(START_NS + 4 * MINUTE_NS)
    assert measure.totals.of(place, "operations", "failed") == 1


def test_hours_without_a_look_lose_nothing(database: Database) -> None:
    measure = measuring(database)
    measure.look(START_NS)
    fleet = Fleet()
    steady(fleet, 0, 600, 5, down=lambda _: False)
    take(database, fleet)
    place = place_of(database)
    for hours in (5, 5, 9, 30):
        measure.look(START_NS + hours * HOUR_NS)
        assert measure.totals.of(place, "calls", "success") == 120
        assert measure.totals.of(place, "operations", "succeeded") == 120


def test_tools_beyond_the_bound_are_one(database: Database) -> None:
    measure = measuring(database, most=2)
    measure.look(START_NS)
    fleet = Fleet()
    for number in range(5):
        fleet.call(number, tool=f"tool_{number}")
    take(database, fleet)
    measure.look(START_NS + 60 * SECOND_NS)
    places = measure.totals.places()
    assert len(places) == 3
    assert places[-1] == ELSEWHERE
    assert measure.totals.of(ELSEWHERE, "calls", "success") == 3


def test_what_waits_and_what_fires_is_said(database: Database) -> None:
    watched = Watched(database, '[rules.failing]\nkind = "custom"\nwhen = "ratio(outcome=failure) over 5m > 50% and calls >= 5"\n')
    fleet = Fleet()
    steady(fleet, 0, 60, 5, down=lambda _: True)
    watched.run(fleet, 90)
    database.insert(request(fleet.sent[0].span, service="shop"), now_ns=START_NS)
    measured = measuring(database).look(START_NS + 90 * SECOND_NS)
    assert measured.traces == (1, START_NS)
    assert [alert.rule for alert in measured.alerts] == ["failing"]
    assert [(rule.name, rule.failed) for rule in measured.rules] == [("failing", False)]
    assert measured.deliveries["all"].number >= 1


@pytest.fixture
def serving(database: Database) -> Iterator[tuple[Serving, TestClient, list[float]]]:
    turned = [0.5]
    one = Serving(measuring(database), lambda: Work(turned[0], 1, 2, 3.0, {}), lambda: START_NS)
    with TestClient(one.app) as client:
        yield one, client, turned


def test_a_loop_that_does_not_turn_is_not_well(serving: tuple[Serving, TestClient, list[float]]) -> None:
    _, client, turned = serving
    assert client.get("/healthz").status_code == 200
    turned[0] = STUCK_S + 1
    answer = client.get("/healthz")
    assert (answer.status_code, answer.json()["status"]) == (503, "the loop has not turned for 121 s")


def test_metrics_stay_while_the_database_is_away(serving: tuple[Serving, TestClient, list[float]], database: Database) -> None:
    one, client, _ = serving
    assert "toolvitals_received_spans_total" not in client.get("/metrics").text
    one.look()
    assert "\ntoolvitals_received_spans_total 0.0\n" in client.get("/metrics").text
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE counter RENAME TO away"))
    with pytest.raises(SQLAlchemyError):
        MetricStore(database.engine).spans()
    one.look()
    answer = client.get("/metrics").text
    assert "\ntoolvitals_received_spans_total 0.0\n" in answer
    assert "\ntoolvitals_worker_turned_seconds 0.5\n" in answer


def test_it_serves_on_its_own_address_and_ends(database: Database) -> None:
    one = Serving(measuring(database), lambda: Work(0.0, 0, 0, 0.0, {}), lambda: START_NS)
    port = one.start("127.0.0.1", 0)
    other = Serving(measuring(database), lambda: Work(0.0, 0, 0, 0.0, {}), lambda: START_NS)
    with pytest.raises(OSError, match="in use"):
        other.start("127.0.0.1", port)
    one.stop()
