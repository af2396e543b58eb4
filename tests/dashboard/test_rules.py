"""What pages say of rules: what each saw in the last day, and which tools of the list stormed."""

from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine

from collector.alert_store import AlertStore, News, RuleState
from schemas.alerting import HOUR_NS, MINUTE_NS, QUARTER_NS, labels_of
from tests import seeds
from tests.dashboard.test_alerts import OVER, STORM, rows
from tests.seeds import NOW_NS


@pytest.fixture
def store(engine: Engine) -> AlertStore:
    """A storm that fires, one that is over, and their rule."""
    store = AlertStore(engine)
    store.commit(News([STORM, OVER], rules=[RuleState("retry_storm", "storm", "page", "retries 10", NOW_NS, 0.33, 0.1)]))
    return store


def test_a_rule_shows_what_it_saw_in_the_last_day_and_when_it_fired(client: TestClient, engine: Engine, store: AlertStore) -> None:
    seen: dict[int, list[float]] = {NOW_NS // QUARTER_NS: [0.33]}
    for minutes, value in ((16, 0.5), (15, 0.2), (1, 0.05)):
        at_ns = NOW_NS - minutes * MINUTE_NS
        store.commit(News(rules=[RuleState("retry_storm", "storm", "page", "retries 10", at_ns, value, 0.1)]))
        seen.setdefault(at_ns // QUARTER_NS, []).append(value)
    # What is seen later in the same quarter of an hour widens it.
    found = rows(engine, "SELECT bucket_ns, low, high FROM rule_value WHERE name = 'retry_storm'")
    assert {one["bucket_ns"] // QUARTER_NS: (one["low"], one["high"]) for one in found} == {
        quarter: (min(values), max(values)) for quarter, values in seen.items()
    }
    assert len(found) < 4
    text = client.get("/alerts").text
    assert "highest 0.5 at " in text
    # One fires; the one of the other tool ended an hour ago.
    assert "fired 2 times" in text
    store.prune(NOW_NS + HOUR_NS, 10)
    assert rows(engine, "SELECT * FROM rule_value") == []


def test_the_list_of_tools_flags_those_that_stormed_in_the_range(client: TestClient, engine: Engine, store: AlertStore) -> None:
    called = [
        seeds.call(number, server=server, tool=tool)
        for number, (server, tool) in enumerate([("orders", "get_order"), ("orders", "list"), ("bank", "pay")], start=1)
    ]
    seeds.put_calls(engine, called)

    def flagged(path: str) -> list[bool]:
        lines = client.get(path).text.split("<tr>")
        found = [[line for line in lines if 'scope="row"' in line and f">{tool}<" in line] for tool in ("get_order", "list", "pay")]
        return [">storm</a>" in line for [line] in found]

    assert flagged("/tools") == [True, False, False]
    store.commit(News([replace(STORM, id="aa09", labels=labels_of(server="bank"))]))
    assert flagged("/tools") == [True, False, True]
