"""Suspects of silent suppression make a ticket: by confidence, not by design, and over once nothing is said of them any longer."""

from typing import Any

import pytest

from collector.alert_store import AlertStore
from collector.suppression_store import SuppressionStore
from schemas.alerting import FIRED, FIRING, HOUR_NS, MINUTE_NS, SOLVED, TICKET
from schemas.suppression import CONFIRMED, POSSIBLE, PROBABLE, Signal, Suspect
from tests import seeds
from tests.alerting import Watched
from tests.database import Database, on_sqlite
from tests.seeds import NOW_NS
from tests.tables import sentences

EXAMPLE = "0a" * 16 + "/" + "0b" * 8
RULE = '[rules.suspects]\nkind = "suspects"\n'


def suspect(tool: str = "search", class_: str = PROBABLE, environment: str = "prod") -> Suspect:
    signals = (Signal("Q2", 9, 40, 1e-5, {}, (EXAMPLE,)), Signal("Q6", 12, 12, 1e-4))
    return Suspect(environment, "docs", tool, class_, signals, 0.01, empty=30, known=60, failure=0, completed=60)


def looked(database: Database, at_ns: int, *found: Suspect) -> None:
    SuppressionStore(database.engine).commit(found, (), at_ns - HOUR_NS, at_ns, at_ns, 0)


class Rule:
    """One rule under watch, at moments of the clock of suppression."""

    def __init__(self, database: Database, more: str = "") -> None:
        self.watched = Watched(database, RULE + more)

    def tick(self, at_ns: int) -> list[tuple[str, str | None]]:
        return [(event, alert.label("tool")) for alert, event in self.watched.watch.tick(at_ns).events]


@on_sqlite
def test_a_suspect_is_a_ticket_until_nothing_is_said_of_it_any_longer(database: Database) -> None:
    rule = Rule(database)
    assert rule.tick(NOW_NS) == []
    looked(database, NOW_NS, suspect(), suspect(class_=CONFIRMED, environment="test"))
    assert rule.tick(NOW_NS + MINUTE_NS) == [(FIRED, "search")]
    [alert] = AlertStore(database.engine).open_alerts()
    assert (alert.state, alert.severity) == (FIRING, TICKET)
    assert alert.evidence["examples"] == [EXAMPLE]
    # Of a tool in two environments the surest is said.
    assert "30 of 60 answers are known to be empty, and some of them may be failures (confirmed, by Q2, Q6)" in alert.evidence["says"]
    looked(database, NOW_NS + HOUR_NS)
    assert rule.tick(NOW_NS + HOUR_NS + MINUTE_NS) == []
    assert rule.tick(NOW_NS + 2 * HOUR_NS + MINUTE_NS) == [(SOLVED, "search")]


@on_sqlite
def test_what_nobody_looks_at_is_not_over(database: Database) -> None:
    rule = Rule(database)
    looked(database, NOW_NS, suspect())
    assert rule.tick(NOW_NS) == [(FIRED, "search")]
    assert rule.tick(NOW_NS + 3 * HOUR_NS) == []
    [alert] = AlertStore(database.engine).open_alerts()
    assert alert.stale_ns == NOW_NS + 3 * HOUR_NS


@on_sqlite
@sentences(
    "more, found",
    {
        "probable by default": ("", ["confirmed", "probable"]),
        "everything": ('least = "possible"\n', ["confirmed", "possible", "probable"]),
        "only what is sure": ('least = "confirmed"\n', ["confirmed"]),
        "of some tools": ('tools = ["prob*"]\n', ["probable"]),
    },
)
def test_how_sure_it_must_be(database: Database, more: str, found: list[str]) -> None:
    looked(database, NOW_NS, *(suspect(class_, class_) for class_ in (POSSIBLE, PROBABLE, CONFIRMED)))
    assert Rule(database, more).tick(NOW_NS) == [(FIRED, tool) for tool in found]


@on_sqlite
@pytest.mark.parametrize(("expires_ns", "told"), [(NOW_NS + 1, []), (NOW_NS, [(FIRED, "search")])], ids=["marked", "the mark is over"])
def test_what_is_by_design_is_no_ticket(database: Database, expires_ns: int, told: list[Any]) -> None:
    looked(database, NOW_NS, suspect())
    mark = {"server": "docs", "tool": "search", "note": "so it is", "who": "A", "marked_ns": NOW_NS - 1, "expires_ns": expires_ns}
    seeds.put(database.engine, "by_design", [mark])
    assert Rule(database).tick(NOW_NS) == told
