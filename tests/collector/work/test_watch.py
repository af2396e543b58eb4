"""A tick commits everything or nothing, and what it knows is in the rows: restarts and other workers go on with them."""

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import OperationalError

from collector.alert_counts import AlertCounts
from collector.alert_store import AlertStore, News
from collector.core.default_rules import DEFAULTS
from collector.core.rulebook import RuleBook, read_rules
from collector.work import watch as watch_module
from collector.work.watch import Watch
from schemas.alerting import FIRED, HOUR_NS, MINUTE_NS, SECOND_NS, SOLVED, Matcher, Silence
from tests.alerting import EVERYTHING, Fleet, Watched, steady
from tests.database import Database, on_sqlite
from tests.spans import NOW_NS, START_NS
from tests.tables import sentences

ONE_RULE = """
[rules.failing]
kind = "custom"
severity = "ticket"
when = "ratio(outcome=failure) over 5m > 50% and calls >= 5"
labels = { team = "shop" }
"""


@pytest.fixture
def watched(database: Database) -> Watched:
    watched = Watched(database, ONE_RULE)
    fleet = Fleet()
    steady(fleet, 0, 120, 5, down=lambda now: now < 60)
    watched.run(fleet, 60, watched_from_s=1000)
    return watched


def test_a_tick_writes_alert_transitions_and_deliveries_together(watched: Watched) -> None:
    watched.tick(60)
    [alert] = watched.database.rows("SELECT * FROM alert")
    assert (alert["state"], alert["severity"], alert["told"]) == ("firing", "ticket", "firing")
    assert alert["labels"] == '{"server":"shop","team":"shop","tool":"get_order"}'
    changes = watched.database.rows("SELECT from_state, to_state FROM transition ORDER BY at_ns, place")
    assert [tuple(row.values()) for row in changes] == [("inactive", "pending"), ("pending", "firing")]
    [delivery] = watched.database.rows("SELECT alert_id, channel, event, state FROM delivery")
    assert delivery == {"alert_id": alert["id"], "channel": "all", "event": "firing", "state": "due"}
    [rule] = watched.database.rows("SELECT name, value, threshold, error FROM rule_state")
    assert rule["value"] > rule["threshold"] == 0.5


@pytest.mark.parametrize("table", ["alert", "transition", "delivery", "rule_state"])
def test_if_one_part_cannot_be_written_nothing_is(watched: Watched, table: str) -> None:
    def fail(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith(f"INSERT INTO {table} "):
            raise OperationalError(statement, {}, Exception("disk full"))

    event.listen(watched.database.engine, "before_cursor_execute", fail)
    with pytest.raises(OperationalError):
        watched.tick(60)
    event.remove(watched.database.engine, "before_cursor_execute", fail)
    for one in ("alert", "transition", "delivery", "rule_state"):
        assert watched.database.rows(f"SELECT * FROM {one}") == []
    # The next tick makes up for it.
    watched.tick(75)
    assert watched.told[0].event == FIRED


def test_a_restart_neither_tells_again_nor_ends_anything(watched: Watched) -> None:
    for now_s in range(60, 180, 15):
        watched.restart()
        watched.tick(now_s)
    assert [one.event for one in watched.told] == [FIRED]
    assert len(watched.database.rows("SELECT * FROM alert WHERE resolved_ns IS NULL")) == 1
    assert len(watched.database.rows("SELECT * FROM delivery")) == 1


def test_data_that_stops_ends_nothing_and_is_told_of_apart(database: Database) -> None:
    watched = Watched(database, ONE_RULE + '[rules.gone]\nkind = "telemetry_missing"\nseverity = "ticket"\n')
    fleet = Fleet()
    steady(fleet, 0, 60, 5, down=lambda _: True)
    watched.run(fleet, 3600)
    assert [(one.event, one.rule) for one in watched.told] == [(FIRED, "failing"), (FIRED, "gone")]
    # The last calls leave the window after five minutes.
    assert 60 + 300 + 840 <= watched.told[1].at <= 60 + 300 + 960
    [failing] = database.rows("SELECT state, muted_by FROM alert WHERE rule = 'failing'")
    assert failing == {"state": "firing", "muted_by": "gone: nothing is heard of this server"}


def test_an_alert_of_a_rule_that_is_gone_ends(watched: Watched) -> None:
    watched.tick(60)
    book = RuleBook(())
    other = Watch(watched.store, AlertCounts(watched.database.engine), book, [EVERYTHING], "", lambda: "fresh")
    done = other.tick(START_NS + 75 * SECOND_NS)
    assert [(alert.state, told) for alert, told in done.events] == [("resolved", SOLVED)]
    assert done.transitions[0].why == "the rule is gone"


def test_a_silenced_alert_is_kept_with_the_reason_and_told_once_the_silence_is_over(watched: Watched) -> None:
    now_ns = START_NS + 60 * SECOND_NS
    with watched.database.engine.begin() as connection:
        silence = (
            "INSERT INTO silence (id, matchers, from_ns, to_ns, created_by, reason, created_ns) "
            "VALUES ('s', '{\"team\": \"sh*\"}', :a, :b, 'kim', 'deploy', :a)"
        )
        connection.execute(text(silence), {"a": now_ns - 1, "b": now_ns + 20 * SECOND_NS})
    watched.tick(60)
    assert watched.told == []
    assert watched.database.rows("SELECT muted_by FROM alert") == [{"muted_by": "silenced by kim: deploy"}]
    watched.tick(90)
    assert [one.event for one in watched.told] == [FIRED]


def test_a_rule_that_cannot_be_evaluated_keeps_its_alerts_and_the_others_go_on(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watched.tick(60)

    def broken(*_: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(watch_module.thresholds, "find", broken)
    watched.tick(75)
    assert "rule failing could not be evaluated" in caplog.text
    [alert] = watched.database.rows("SELECT state, stale_ns FROM alert")
    assert alert == {"state": "firing", "stale_ns": START_NS + 75 * SECOND_NS}
    assert watched.database.rows("SELECT error FROM rule_state") == [{"error": "ZeroDivisionError"}]


def test_a_storm_of_one_tool_is_not_told_as_one_of_its_server_too(database: Database) -> None:
    watched, fleet = Watched(database), Fleet()
    steady(fleet, 0, 150, 3, down=lambda _: True)
    steady(fleet, 0, 150, 3, down=lambda _: False, tool="list_orders")
    watched.run(fleet, 150)
    assert database.rows("SELECT labels FROM alert WHERE rule = 'retry_storm'") == [{"labels": '{"server":"shop","tool":"get_order"}'}]


@on_sqlite
def test_retries_all_over_a_server_are_a_storm_though_no_tool_has_enough(database: Database) -> None:
    watched, fleet = Watched(database), Fleet()
    for number in range(8):
        steady(fleet, number, 180, 40, down=lambda _: True, retries=1, tool=f"tool_{number}", sessions=40)
    watched.run(fleet, 195)
    assert [(one.event, one.rule, one.tool) for one in watched.told][:1] == [(FIRED, "retry_storm", None)]


def test_alerts_that_are_long_over_are_removed_with_all_that_belongs_to_them(watched: Watched) -> None:
    watched.tick(60)
    [alert] = watched.store.open_alerts()
    watched.store.commit(News([replace(alert, state="resolved", resolved_ns=NOW_NS)]))
    assert watched.store.prune(NOW_NS, 10) == 0
    assert watched.store.prune(NOW_NS + 1, 10) == 1
    for table in ("alert", "transition", "delivery"):
        assert watched.database.rows(f"SELECT * FROM {table}") == []


@sentences("from_ns, to_ns, found", {"one that runs": (NOW_NS, NOW_NS + HOUR_NS, 1), "one that is over": (NOW_NS - HOUR_NS, NOW_NS, 0)})
def test_silences_are_read_as_they_were_written(database: Database, from_ns: int, to_ns: int, found: int) -> None:
    with database.engine.begin() as connection:
        insert = (
            "INSERT INTO silence (id, matchers, from_ns, to_ns, created_by, reason, created_ns) VALUES ('s', :m, :a, :b, 'kim', 'x', 0)"
        )
        connection.execute(text(insert), {"m": '{"rule": "a", "server": "b"}', "a": from_ns, "b": to_ns})
    expected = [Silence("s", [Matcher("rule", "a"), Matcher("server", "b")], from_ns, to_ns, "kim", "x")]
    assert AlertStore(database.engine).silences(NOW_NS) == expected[:found]


def test_the_built_in_rules_are_evaluated_on_an_empty_database(database: Database) -> None:
    done = Watch(AlertStore(database.engine), AlertCounts(database.engine), read_rules(DEFAULTS)).tick(NOW_NS + MINUTE_NS)
    assert (list(done.alerts), list(done.events)) == ([], [])
    assert {row["error"] for row in database.rows("SELECT error FROM rule_state")} == {""}
