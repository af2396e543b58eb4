"""The outbox sends at least once, one worker at a time, waits as it is asked to, and gives up only what is no use."""

import hmac
import logging
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

import httpx
import pytest

from collector.alert_store import AlertStore, News
from collector.core.channels import ALERTMANAGER, PAGERDUTY, WEBHOOK, ChannelConfig
from collector.core.messages import message
from collector.work.notify import outbox as outbox_module
from collector.work.notify import sending
from collector.work.notify.outbox import CLAIMED_NS, Outbox, senders
from schemas.alerting import (
    DUE,
    FIRED,
    FIRING,
    FLEET,
    MINUTE_NS,
    PAGE,
    RESOLVED,
    SECOND_NS,
    SOLVED,
    STORM,
    Alert,
    Delivery,
    Rule,
    labels_of,
)
from tests.collector.work.notify.conftest import DROP, STALL, Receiver
from tests.database import Database
from tests.spans import NOW_NS
from tests.tables import sentences

EVIDENCE = {
    "retries": 40,
    "attempts": 90,
    "window_s": 285,
    "value": 0.44,
    "low": 0.35,
    "high": 0.55,
    "threshold": 0.2,
    "sessions": 8,
    "expected": 0.5,
    "baseline": {"retries": 4, "seconds": 86_400, "dispersion": 1.0},
    "top_category": "transient",
    "top_channel": "tool",
    "examples": ["0a/0b"],
}
ALERT = Alert(
    *("a1", "retry_storm", labels_of(server="orders", tool="get_order"), PAGE, FLEET, FIRING),
    started_ns=NOW_NS - 15 * SECOND_NS,
    last_true_ns=NOW_NS,
    evaluated_ns=NOW_NS,
    fired_ns=NOW_NS,
    evidence=EVIDENCE,
    told=FIRED,
    told_severity=PAGE,
    told_ns=NOW_NS,
)
RULE = Rule("retry_storm", STORM, PAGE)
BODY = message(ALERT, RULE, FIRED, "http://here")


class Clock:
    """Says what it is told to."""

    def __init__(self) -> None:
        self.now_ns = NOW_NS

    def __call__(self) -> int:
        return self.now_ns


class Post:
    """An outbox with one channel to a receiver, and a clock of its own."""

    def __init__(self, database: Database, client: httpx.Client, receiver: Receiver, kind: str = WEBHOOK) -> None:
        self.clock = Clock()
        self.store = AlertStore(database.engine)
        self.database = database
        config = ChannelConfig("hook", kind, f"{receiver.url}/in?token=hidden", "s3cret", "info")
        config = replace(config, url=receiver.url) if kind == ALERTMANAGER else config
        self.outbox = Outbox(self.store, senders([config], client, "http://here"), self.clock)

    def put(self, delivery_id: str = "d1", channel: str = "hook") -> None:
        """Have something to tell."""
        one = Delivery(delivery_id, "a1", channel, FIRED, self.clock.now_ns, DUE, 0, self.clock.now_ns, BODY)
        self.store.commit(News([ALERT], (), (), [one]))

    def after(self, seconds: float) -> int:
        """Send what is due that much later."""
        self.clock.now_ns += round(seconds * SECOND_NS)
        return self.outbox.step()

    @property
    def row(self) -> dict[str, object]:
        """The delivery as it is stored."""
        [row] = self.database.rows("SELECT state, attempts, next_ns, sent_ns, error FROM delivery")
        return row

    @property
    def results(self) -> list[str]:
        """What came of each attempt."""
        return [row["result"] for row in self.database.rows("SELECT result FROM delivery_attempt ORDER BY delivery_id, attempt")]


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client() as client:
        yield client


@pytest.fixture
def box(database: Database, client: httpx.Client, receiver: Receiver) -> Post:
    return Post(database, client, receiver)


def test_what_is_due_is_sent_once_signed_and_named(box: Post, receiver: Receiver) -> None:
    box.put()
    assert [box.after(0), box.after(0), box.after(86_400)] == [1, 0, 0]
    [body], [headers] = receiver.bodies, receiver.headers
    assert headers["idempotency-key"] == body["deliveryId"] == "d1"
    assert headers["x-toolvitals-signature"] == "sha256=" + hmac.new(b"s3cret", receiver.raw[0], sha256).hexdigest()
    assert (body["version"], body["status"], body["receiver"]) == ("4", "firing", "hook")
    [alert] = body["alerts"]
    assert alert["labels"] == {"alertname": "retry_storm", "severity": "page", "class": "fleet", "server": "orders", "tool": "get_order"}
    assert alert["endsAt"] == "0001-01-01T00:00:00Z"
    assert box.row == {"state": "sent", "attempts": 1, "next_ns": None, "sent_ns": NOW_NS, "error": ""}
    assert box.results == ["sent"]


@sentences(
    "answer, says",
    {
        "it is broken": (500, "HTTP 500"),
        "it is away": (503, "HTTP 503"),
        "it is asked too often": (429, "HTTP 429"),
        "it drops the connection": (DROP, "no answer: RemoteProtocolError"),
        "it stalls": (STALL, "no answer: ReadTimeout"),
    },
)
def test_what_may_heal_is_tried_again_with_the_same_id(
    box: Post, receiver: Receiver, answer: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if answer == STALL:
        monkeypatch.setattr(sending, "TIMEOUT_S", 0.2)
    receiver.answers = [answer]
    box.put()
    assert box.after(0) == 1
    assert (box.row["state"], box.row["error"]) == ("due", says)
    assert box.after(4.9) == 0
    assert box.after(0.1) == 1
    assert [body["deliveryId"] for body in receiver.bodies] == ["d1", "d1"]
    assert (box.row["state"], box.results) == ("sent", [says, "sent"])


@sentences(
    "given, wait_s",
    {
        "seconds": ("90", 90),
        "less than the pause that it has anyway": ("1", 5),
        "a date": ("Mon, 23 Nov 2026 10:02:00 GMT", 60),
        "a date of the past": ("Mon, 23 Nov 2020 10:00:00 GMT", 5),
        "nothing that can be read": ("soon", 5),
        "for ever is not believed": ("99999999", 3600),
    },
)
def test_a_receiver_that_wants_to_be_left_alone_is(box: Post, receiver: Receiver, given: str, wait_s: int) -> None:
    receiver.answers = [(429, {"retry-after": given})]
    box.put()
    box.after(0)
    assert box.row["next_ns"] == NOW_NS + wait_s * SECOND_NS


@pytest.mark.parametrize("status", [400, 401, 404, 410, 302])
def test_what_no_repetition_mends_is_given_up(box: Post, receiver: Receiver, status: int) -> None:
    receiver.answers = [status]
    box.put()
    assert [box.after(0), box.after(86_400)] == [1, 0]
    assert (box.row["state"], box.row["next_ns"], box.results) == ("failed", None, [f"HTTP {status}"])


def test_pauses_double_and_after_a_day_it_is_given_up(box: Post, receiver: Receiver) -> None:
    receiver.answers = [500] * 1000
    box.put()
    pauses = []
    while box.outbox.step():
        if box.row["next_ns"] is None:
            break
        assert isinstance(box.row["next_ns"], int)
        pauses.append((box.row["next_ns"] - box.clock.now_ns) // SECOND_NS)
        box.clock.now_ns = box.row["next_ns"]
    assert pauses[:8] == [5, 10, 20, 40, 80, 160, 320, 600]
    assert box.row["state"] == "failed"
    assert 86_400 - 600 <= sum(pauses) <= 86_400


def test_a_crash_between_claim_and_sending_sends_again_with_the_same_id(box: Post, receiver: Receiver) -> None:
    box.put()
    lost = box.store.claim("d1", NOW_NS, NOW_NS + CLAIMED_NS)
    assert lost is not None
    # That worker is gone. Nobody knows whether it was sent.
    assert box.after(CLAIMED_NS / SECOND_NS - 1) == 0
    assert box.after(1) == 1
    assert [body["deliveryId"] for body in receiver.bodies] == ["d1"]
    # And if it was only slow, it does not undo what the other noted.
    box.store.failed(lost, "too late", NOW_NS)
    assert (box.row["state"], box.row["attempts"]) == ("sent", 2)


def test_of_two_workers_one_sends(box: Post, database: Database, client: httpx.Client, receiver: Receiver) -> None:
    other = Post(database, client, receiver)
    box.put()
    assert (box.store.due(NOW_NS, 10), other.store.due(NOW_NS, 10)) == (["d1"], ["d1"])
    assert box.store.claim("d1", NOW_NS, NOW_NS + CLAIMED_NS) is not None
    assert other.store.claim("d1", NOW_NS, NOW_NS + CLAIMED_NS) is None


def test_one_channel_that_fails_does_not_hold_up_another(box: Post, receiver: Receiver) -> None:
    box.put("d1", "gone")
    box.put("d2")
    assert box.after(0) == 2
    states = {row["id"]: (row["state"], row["error"]) for row in box.database.rows("SELECT id, state, error FROM delivery")}
    assert states == {"d1": ("failed", "there is no such channel any longer"), "d2": ("sent", "")}


def test_nothing_secret_is_logged_or_stored(box: Post, receiver: Receiver, caplog: pytest.LogCaptureFixture) -> None:
    receiver.answers = [500, DROP]
    box.put()
    with caplog.at_level(logging.DEBUG, logger=outbox_module.__name__):
        box.after(0)
        box.after(5)
    stored = str(box.database.rows("SELECT * FROM delivery")) + str(box.database.rows("SELECT * FROM delivery_attempt"))
    for text in (caplog.text, stored):
        assert "hidden" not in text
        assert "s3cret" not in text


def test_pagerduty_is_triggered_and_resolved_under_one_key(database: Database, client: httpx.Client, receiver: Receiver) -> None:
    box = Post(database, client, receiver, PAGERDUTY)
    receiver.answers = [202, 202]
    box.put()
    box.after(0)
    ended = replace(ALERT, state=RESOLVED, resolved_ns=NOW_NS + MINUTE_NS)
    body = message(ended, RULE, SOLVED, "http://here")
    box.store.commit(News([ended], (), (), [Delivery("d2", "a1", "hook", SOLVED, NOW_NS, DUE, 0, NOW_NS, body)]))
    box.after(60)
    assert [one["event_action"] for one in receiver.bodies] == ["trigger", "resolve"]
    assert len({one["dedup_key"] for one in receiver.bodies}) == 1
    assert receiver.bodies[0]["payload"]["severity"] == "critical"
    assert receiver.bodies[0]["routing_key"] == "s3cret"


def test_an_alertmanager_is_told_again_every_minute_and_of_the_end_for_five(
    database: Database, client: httpx.Client, receiver: Receiver
) -> None:
    box = Post(database, client, receiver, ALERTMANAGER)
    box.put()
    box.after(0)
    assert receiver.paths == ["/api/v2/alerts"]
    for _ in range(8):
        box.outbox.say_again()
        box.clock.now_ns += 15 * SECOND_NS
    assert len(receiver.bodies) == 3
    assert receiver.bodies[2][0]["endsAt"] == "2026-11-23T10:06:00.000Z"
    box.store.commit(News([replace(ALERT, muted_by="somebody silenced it")]))
    box.clock.now_ns += MINUTE_NS
    box.outbox.say_again()
    assert len(receiver.bodies) == 3
    box.store.commit(News([replace(ALERT, state=RESOLVED, resolved_ns=box.clock.now_ns)]))
    for _ in range(10):
        box.clock.now_ns += MINUTE_NS
        box.outbox.say_again()
    assert len(receiver.bodies) == 3 + 5


def test_an_alertmanager_that_is_away_is_told_in_the_next_minute(database: Database, client: httpx.Client, receiver: Receiver) -> None:
    box = Post(database, client, receiver, ALERTMANAGER)
    box.put()
    box.after(0)
    receiver.answers = [503]
    box.outbox.say_again()
    box.clock.now_ns += MINUTE_NS
    box.outbox.say_again()
    assert len(receiver.bodies) == 3
