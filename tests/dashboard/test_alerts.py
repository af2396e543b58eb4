"""The alerts page and its JSON: what is said, who may change it, and that changes are on record."""

import json
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import Engine, text

from collector.alert_store import AlertStore, News, RuleState
from dashboard.forgery import COOKIE, FIELD
from dashboard.words import iso
from schemas.alerting import (
    DUE,
    FIRING,
    HOUR_NS,
    MINUTE_NS,
    PENDING,
    RESOLVED,
    Alert,
    Delivery,
    Transition,
    labels_of,
    message_of_test,
)
from tests import seeds
from tests.dashboard.reading import Page
from tests.seeds import NOW_NS
from tests.tables import sentences

STORM = Alert(
    id="aa01",
    rule="retry_storm",
    labels=labels_of(server="orders", tool="get_order"),
    severity="page",
    class_="fleet",
    state=FIRING,
    started_ns=NOW_NS - 10 * MINUTE_NS,
    last_true_ns=NOW_NS,
    evaluated_ns=NOW_NS,
    fired_ns=NOW_NS - 9 * MINUTE_NS,
    evidence={"says": "30 of 90 attempts are retries.", "top_category": "transient", "examples": ["0a" * 16 + "/" + "0b" * 8]},
)
MUTED = replace(STORM, id="aa02", rule="burn_rate", class_="", muted_by="retry_storm: many sessions storm this tool")
WAITING = replace(STORM, id="aa03", rule="loop", state=PENDING, fired_ns=None, severity="ticket", class_="")
OVER = replace(STORM, id="aa04", labels=labels_of(server="bank", tool="<b>x</b>"), state=RESOLVED, resolved_ns=NOW_NS - HOUR_NS)


@pytest.fixture
def store(engine: Engine) -> AlertStore:
    store = AlertStore(engine)
    rules = [
        RuleState("retry_storm", "storm", "page", "retries 10", NOW_NS, 0.33, 0.1),
        RuleState("loop", "loop", "ticket", "alert 6", NOW_NS),
    ]
    changes = [Transition("aa01", NOW_NS - 9 * MINUTE_NS, PENDING, FIRING, "held for 15 s")]
    told = [Delivery("d1", "aa01", "chat", "firing", NOW_NS - 9 * MINUTE_NS, DUE, 0, NOW_NS, {"title": "x"})]
    store.commit(News([STORM, MUTED, WAITING, OVER], (), changes, told, rules))
    return store


def posted(client: TestClient, path: str, **fields: str) -> Any:
    """Post a form of our own page."""
    client.get("/alerts")
    return client.post(path, data={FIELD: client.cookies[COOKIE], **fields}, follow_redirects=False)


def alerts(client: TestClient, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.get(f"/api/v1/alerts{query}").json()["alerts"]
    return found


def rows(engine: Engine, query: str) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row) for row in connection.execute(text(query)).mappings()]


@pytest.mark.usefixtures("store")
@sentences(
    "query, ids",
    {
        "all, the most urgent first, what is over last": ("", ["aa01", "aa02", "aa03", "aa04"]),
        "what fires": ("?state=firing", ["aa01", "aa02"]),
        "what is pending": ("?state=pending", ["aa03"]),
        "what is over": ("?state=resolved", ["aa04"]),
    },
)
def test_the_api_lists_alerts(client: TestClient, query: str, ids: list[str]) -> None:
    found = alerts(client, query)
    assert [one["id"] for one in found] == ids
    expected = {
        "rule",
        "labels",
        "severity",
        "class",
        "state",
        "started_ns",
        "fired_ns",
        "resolved_ns",
        "acknowledged_by",
        "muted_by",
        "evidence",
    }
    assert all(expected <= set(one) for one in found)


def test_a_state_that_is_none_is_refused(client: TestClient) -> None:
    assert client.get("/api/v1/alerts?state=open").status_code == 400


@pytest.mark.usefixtures("store")
def test_alerts_as_csv(client: TestClient) -> None:
    lines = client.get("/api/v1/alerts?format=csv").text.splitlines()
    assert lines[0].startswith("server,tool,rule,severity,class,state")
    assert lines[1].startswith("orders,get_order,retry_storm,page,fleet,firing")


@pytest.mark.usefixtures("store")
def test_the_page_says_what_is_wrong_and_why_some_is_not_told(client: TestClient) -> None:
    answer = client.get("/alerts")
    page = Page(answer.text)
    for words in (
        "30 of 90 attempts are retries.",
        "not told, retry_storm: many sessions storm this tool",
        "held for 15 s",
        "no channel is set up",
        "2 now, of which 1 are not told",
        "0.33",
        "Back off, and check the backend",
    ):
        assert words in page.text, words
    assert f"/calls/{'0a' * 16}/{'0b' * 8}" in page.links
    assert "<b>x</b>" not in answer.text


def test_the_page_of_a_new_database_says_that_nothing_was_evaluated(client: TestClient) -> None:
    text_ = Page(client.get("/alerts").text).text
    assert "No rule was evaluated yet" in text_
    assert "Nobody is told of alerts" in text_


def test_the_landing_page_has_a_banner_and_shades_storms(client: TestClient, engine: Engine, store: AlertStore) -> None:
    seeds.put_calls(engine, [seeds.call(number, start_ns=NOW_NS - number * MINUTE_NS) for number in range(1, 30)])
    page = Page(client.get("/?range=1h").text)
    assert "1 alert firing , 1 more not told, 1 pending." in page.text
    shapes = [shape for shape in page.charts["outcomes"]["layout"]["shapes"] if shape.get("fillcolor") == "var(--storm)"]
    assert len(shapes) == 1
    assert shapes[0]["x1"] - shapes[0]["x0"] == 10


def test_somebody_has_it_and_that_is_on_record(client: TestClient, engine: Engine, store: AlertStore) -> None:
    answer = posted(client, "/alerts/aa01/acknowledge", who="kim", note="looking")
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts#aa01")
    assert alerts(client, "?state=firing")[0]["acknowledged_by"] == "kim"
    assert "acknowledged by kim: looking" in Page(client.get("/alerts").text).text
    [line] = rows(engine, "SELECT who, what, subject, note FROM audit")
    assert line == {"who": "kim", "what": "acknowledge", "subject": "aa01", "note": "looking"}
    # The worker, which read the alert before that, does not undo it.
    store.commit(News([STORM]))
    assert alerts(client, "?state=firing")[0]["acknowledged_by"] == "kim"


@pytest.mark.usefixtures("store")
@sentences(
    "path, fields, status",
    {
        "an alert that is over": ("/alerts/aa04/acknowledge", {"who": "kim"}, 404),
        "one that never was": ("/alerts/ffff/acknowledge", {"who": "kim"}, 404),
        "nobody": ("/alerts/aa01/acknowledge", {"who": " "}, 400),
        "a silence of everything": ("/silences", {"who": "kim", "reason": "x", "hours": "1"}, 400),
        "a silence of everything by patterns": ("/silences", {"who": "kim", "reason": "x", "hours": "1", "server": "*"}, 400),
        "a silence without end": ("/silences", {"who": "kim", "reason": "x", "hours": "9999", "rule": "loop"}, 400),
        "a silence without reason": ("/silences", {"who": "kim", "hours": "1", "rule": "loop"}, 400),
        "the end of a silence that is none": ("/silences/ffff/end", {"who": "kim"}, 404),
    },
)
def test_what_cannot_be_changed_is_refused_and_leaves_no_trace(
    client: TestClient, engine: Engine, path: str, fields: dict[str, str], status: int
) -> None:
    assert posted(client, path, **fields).status_code == status
    assert rows(engine, "SELECT * FROM audit") == []
    assert rows(engine, "SELECT * FROM silence") == []


def test_a_silence_begins_mutes_and_ends(client: TestClient, engine: Engine, store: AlertStore) -> None:
    assert posted(client, "/silences", who="kim", reason="deploy", hours="4", rule="retry_storm", server="ord*").status_code == 303
    [silence] = store.silences(NOW_NS)
    assert silence.mutes(STORM, NOW_NS)
    assert not silence.mutes(WAITING, NOW_NS)
    assert silence.to_ns == NOW_NS + 4 * HOUR_NS
    [shown] = client.get("/api/v1/silences").json()["silences"]
    assert shown["matchers"] == {"rule": "retry_storm", "server": "ord*"}
    assert posted(client, f"/silences/{silence.id}/end", who="lee").status_code == 303
    assert store.silences(NOW_NS) == []
    assert [line["what"] for line in rows(engine, "SELECT * FROM audit ORDER BY what")] == ["end silence", "silence"]


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("path", ["/alerts/aa01/acknowledge", "/silences", "/silences/aa/end"])
def test_another_site_changes_nothing(client: TestClient, engine: Engine, path: str) -> None:
    fields = {"who": "eve", "reason": "x", "hours": "1", "rule": "retry_storm"}
    assert client.post(path, data=fields).status_code == 403
    client.get("/alerts")
    whole = {FIELD: client.cookies[COOKIE], **fields}
    assert client.post(path, data=whole, headers={"origin": "https://evil.example"}).status_code == 403
    assert rows(engine, "SELECT * FROM audit") == []


@sentences(
    "headers, status",
    {
        "from a program": ({"content-type": "application/json"}, 201),
        "from another site": ({"content-type": "application/json", "origin": "https://evil.example"}, 403),
        "as a form of another site could": ({"content-type": "text/plain"}, 403),
    },
)
def test_silences_by_the_api(client: TestClient, engine: Engine, headers: dict[str, str], status: int) -> None:
    body = {"matchers": {"server": "bank"}, "hours": 2, "created_by": "deploy bot", "reason": "release"}
    answer = client.post("/api/v1/silences", content=json.dumps(body), headers=headers)
    assert answer.status_code in (status, 422 if status == 403 else status)
    assert len(rows(engine, "SELECT * FROM silence")) == (status == 201)


@sentences(
    "path, chart, shaded",
    {
        "on the page of its tool": ("/tools/orders/get_order?range=1h", "outcomes", 1),
        "not on that of another": ("/tools/orders/list_orders?range=1h", "outcomes", 0),
        "on the page of retries": ("/retries?range=1h", "ratio", 1),
        "not where another server is asked for": ("/retries?range=1h&server=bank", "ratio", 0),
        "not before it began": (f"/?from={iso(NOW_NS - 3 * HOUR_NS)}&to={iso(NOW_NS - 2 * HOUR_NS)}", "outcomes", 0),
    },
)
def test_a_storm_is_shaded_where_it_belongs(
    client: TestClient, engine: Engine, store: AlertStore, path: str, chart: str, shaded: int
) -> None:
    store.commit(News([replace(OVER, resolved_ns=NOW_NS - 20 * HOUR_NS, fired_ns=NOW_NS - 21 * HOUR_NS)]))
    places = [(server, tool) for server in ("orders", "bank") for tool in ("get_order", "list_orders")]
    calls = [
        seeds.call(number * 10 + place, server=server, tool=tool, start_ns=NOW_NS - number * MINUTE_NS)
        for number in range(1, 200, 3)
        for place, (server, tool) in enumerate(places)
    ]
    seeds.put_calls(engine, calls)
    answer = client.get(path)
    assert answer.status_code == 200, answer.text[:2000]
    layout = Page(answer.text).charts[chart]["layout"]
    assert len([shape for shape in layout.get("shapes", ()) if shape.get("fillcolor") == "var(--storm)"]) == shaded


def with_channel(store: AlertStore) -> None:
    store.describe([], [{"name": "chat", "kind": "apprise", "target": "slack://…", "least": "warn"}])


def test_a_test_of_a_channel_is_a_delivery_that_the_worker_sends_and_on_record(
    client: TestClient, engine: Engine, store: AlertStore
) -> None:
    with_channel(store)
    page = client.get("/alerts").text
    assert 'action="/alerts/channels/chat/test"' in page
    answer = posted(client, "/alerts/channels/chat/test", who="kim")
    assert (answer.status_code, answer.headers["location"]) == (303, "/alerts#channels")
    [made] = rows(engine, "SELECT * FROM delivery WHERE event = 'test'")
    assert (made["channel"], made["state"], made["alert_id"]) == ("chat", DUE, "")
    body = json.loads(made["body"])
    assert body == message_of_test(body["url"].removesuffix("/alerts"), made["created_ns"])
    [line] = rows(engine, "SELECT who, what, subject FROM audit")
    assert (line["who"], line["subject"]) == ("kim", "chat")
    claimed = store.claim(made["id"], NOW_NS, NOW_NS + HOUR_NS)
    assert claimed is not None
    store.sent(claimed, NOW_NS)
    assert "test sent" in " ".join(Page(client.get("/alerts").text).text.split())


@sentences(
    "name, who, status",
    {"a channel that is none": ("nosuch", "kim", 404), "nobody": ("chat", " ", 400)},
)
def test_a_channel_test_that_cannot_be_is_refused(
    client: TestClient, engine: Engine, store: AlertStore, name: str, who: str, status: int
) -> None:
    with_channel(store)
    assert posted(client, f"/alerts/channels/{name}/test", who=who).status_code == status
    assert rows(engine, "SELECT * FROM delivery WHERE event = 'test'") == []
    assert rows(engine, "SELECT * FROM audit") == []


def test_another_site_tests_no_channel(client: TestClient, engine: Engine, store: AlertStore) -> None:
    with_channel(store)
    assert client.post("/alerts/channels/chat/test", data={"who": "eve"}).status_code == 403
    assert rows(engine, "SELECT * FROM delivery WHERE event = 'test'") == []
