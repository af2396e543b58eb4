"""Reviews are made when their week is closed, made anew when late data changes them, and sent once on their Monday."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from collector.alert_store import AlertStore, News
from collector.core.channels import PAGERDUTY, WEBHOOK, ChannelConfig
from collector.leases import Leases
from collector.review_counts import ReviewCounts
from collector.review_store import ReviewStore
from collector.work import reviews as reviews_module
from collector.work.notify.outbox import Outbox, senders
from collector.work.reviewing import Reviewer, Watched
from collector.work.reviews import Reviews
from schemas.alerting import HOUR_NS, MINUTE_NS
from schemas.weeks import Week
from tests.alerting import Fleet
from tests.database import Database, on_sqlite
from tests.reviewing import WEEK, ZONE, reviewer, seconds, storm, taken
from tests.tables import sentences

HOOK = ChannelConfig("team", WEBHOOK, "http://127.0.0.1:9/hook", "", "page")
PAGER = ChannelConfig("pager", PAGERDUTY, "http://127.0.0.1:9/enqueue", "key", "info")
NINE_NS = WEEK.before(-1).at(9)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns

    def __call__(self) -> int:
        return self.now_ns


@pytest.fixture
def clock() -> Clock:
    return Clock(NINE_NS)


@pytest.fixture
def filled(database: Database) -> Database:
    fleet = Fleet()
    fleet.call(seconds(WEEK.start_ns + HOUR_NS), session="s1")
    fleet.call(seconds(WEEK.start_ns + 2 * HOUR_NS), failure="business", session="s2")
    taken(database, fleet)
    return database


@pytest.fixture
def new(clock: Clock) -> Callable[..., Reviews]:
    def make(database: Database, name: str = "one", *, by: Reviewer | None = None) -> Reviews:
        leases, store, counts = Leases(database.engine, name), ReviewStore(database.engine), ReviewCounts(database.engine)
        return Reviews(counts, store, leases, by or reviewer(database), ZONE, [HOOK, PAGER], "http://here", clock)

    return make


def stored(database: Database, week: Week = WEEK) -> list[tuple[int, int]]:
    """Revision and operations of what is stored of a week."""
    found = database.rows("SELECT revision FROM review WHERE week = :week ORDER BY revision", week=week.name)
    latest = ReviewStore(database.engine).latest(ZONE, week.name)
    return [(row["revision"], latest.content["numbers"]["operations"]["value"] if latest else 0) for row in found]


def until_done(one: Reviews) -> list[str]:
    """Step until nothing is due; the weeks that were looked at."""
    looked = []
    while (week := one.step()) is not None:
        looked.append(week.name)
    return looked


@sentences(
    "now_ns, revisions",
    {
        "while it runs it is kept as revision 0": (WEEK.end_ns - HOUR_NS, [(0, 2)]),
        "until the last retry and what is a little late are in": (WEEK.end_ns + 62 * MINUTE_NS - 1, [(0, 2)]),
        "then it is closed, and revision 1": (WEEK.end_ns + 62 * MINUTE_NS, [(1, 2)]),
    },
)
def test_a_review_is_made(
    filled: Database, new: Callable[..., Reviews], clock: Clock, now_ns: int, revisions: list[tuple[int, int]]
) -> None:
    clock.now_ns = now_ns
    until_done(new(filled))
    assert stored(filled) == revisions


def test_the_running_week_is_renewed_every_hour_and_closed_in_the_end(filled: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    one = new(filled)
    clock.now_ns = WEEK.end_ns - 2 * HOUR_NS
    assert until_done(one) == [WEEK.name]
    clock.now_ns += HOUR_NS - 1
    assert until_done(one) == []
    clock.now_ns += 1
    assert until_done(one) == [WEEK.name]
    clock.now_ns = NINE_NS
    assert until_done(one) == [WEEK.before(-1).name, WEEK.name]
    assert stored(filled) == [(1, 2)]


def test_late_data_makes_a_new_revision_and_the_old_one_stays(filled: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    one = new(filled)
    until_done(one)
    clock.now_ns += HOUR_NS
    until_done(one)
    assert stored(filled) == [(1, 2)]
    late = Fleet()
    late.call(seconds(WEEK.start_ns + 3 * HOUR_NS), session="late", trace=2**90)
    late_spans(filled, late)
    clock.now_ns += HOUR_NS
    until_done(one)
    assert stored(filled) == [(1, 3), (2, 3)]


def test_an_alert_that_ends_after_its_week_makes_a_new_revision(filled: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    alerts = AlertStore(filled.engine)
    alerts.commit(News([storm(state="firing", resolved_ns=None)]))
    one = new(filled)
    until_done(one)
    alerts.commit(News([storm(resolved_ns=NINE_NS)]))
    clock.now_ns += HOUR_NS
    until_done(one)
    assert [revision for revision, _ in stored(filled)] == [1, 2]


def late_spans(database: Database, fleet: Fleet) -> None:
    """Spans whose ids are those of no other."""
    for one in fleet.sent:
        one.span.span_id = (2**40 + int.from_bytes(one.span.span_id, "big")).to_bytes(8, "big")
    taken(database, fleet)


def deliveries(database: Database) -> list[dict[str, Any]]:
    return database.rows("SELECT id, channel, event, state, created_ns FROM delivery ORDER BY id")


@sentences(
    "now_ns, sent",
    {
        "not before nine on Monday, in the zone": (NINE_NS - 1, 0),
        "from nine on": (NINE_NS, 1),
        "later in the week, if nobody worked on Monday": (NINE_NS + 50 * HOUR_NS, 1),
    },
)
def test_a_review_is_sent_to_webhooks_and_chats(
    filled: Database, new: Callable[..., Reviews], clock: Clock, now_ns: int, sent: int
) -> None:
    clock.now_ns = now_ns
    until_done(new(filled))
    assert [one["channel"] for one in deliveries(filled)] == ["team"] * sent


def test_it_is_sent_once_whoever_works(filled: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    until_done(new(filled))
    clock.now_ns += HOUR_NS
    until_done(new(filled, "other"))
    [only] = deliveries(filled)
    assert (only["event"], only["state"]) == ("review", "due")


def test_what_arrives_says_what_changed_and_where_to_read_on(filled: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    until_done(new(filled))
    posted: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        posted.append(request)
        # The first is taken, but the answer gets lost: at least once.
        return httpx.Response(503 if len(posted) == 1 else 200)

    with httpx.Client(transport=httpx.MockTransport(answer)) as client:
        outbox = Outbox(AlertStore(filled.engine), senders([HOOK, PAGER], client, "http://here"), clock)
        outbox.step()
        clock.now_ns += HOUR_NS
        outbox.step()
    bodies = [httpx.Response(200, content=one.content).json() for one in posted]
    assert bodies[0] == bodies[1]
    assert posted[0].headers["idempotency-key"] == posted[1].headers["idempotency-key"] == bodies[0]["deliveryId"]
    assert bodies[0]["event"] == "review"
    said = bodies[0]["commonAnnotations"]
    assert f"Weekly reliability review {WEEK.name} ({ZONE})" in said["summary"] or WEEK.name in str(said)
    assert "operation success 50.0% (1 of 2)" in str(said)
    assert f"http://here/reviews/{WEEK.name}" in str(bodies[0])


def test_a_week_in_which_nothing_was_called_is_kept_but_not_sent(database: Database, new: Callable[..., Reviews], clock: Clock) -> None:
    fleet = Fleet()
    fleet.call(seconds(WEEK.before(2).start_ns + HOUR_NS))
    taken(database, fleet)
    looked = until_done(new(database))
    assert looked == [WEEK.before(count).name for count in (-1, 0, 1, 2)]
    assert deliveries(database) == []
    assert stored(database) == [(1, 0)]


def test_before_the_first_call_there_is_nothing_to_review(database: Database, new: Callable[..., Reviews]) -> None:
    assert new(database).step() is None
    assert database.rows("SELECT * FROM review") == []


def test_one_worker_of_several_makes_them(filled: Database, new: Callable[..., Reviews]) -> None:
    one, other = new(filled), new(filled, "other")
    assert one.step() is not None
    assert other.step() is None


@on_sqlite
def test_a_week_that_cannot_be_reviewed_does_not_keep_the_others_from_it(
    filled: Database, new: Callable[..., Reviews], caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(Reviewer):
        def make(self, week: Week, *given: Any) -> Any:
            if week != WEEK:
                raise ArithmeticError("this week has a fault")
            return super().make(week, *given)

    by = Broken(ReviewCounts(filled.engine), Watched())
    assert new(filled, by=by).step() == WEEK
    assert f"the review of {WEEK.before(-1).name} could not be made" in caplog.text


@on_sqlite
def test_who_is_told_to_stop_leaves_the_review_that_it_makes(filled: Database, new: Callable[..., Reviews]) -> None:
    class Stopping(Reviewer):
        def make(self, *given: Any) -> Any:
            one.stop()
            return super().make(*given)

    one = new(filled, by=Stopping(ReviewCounts(filled.engine), Watched()))
    one.run()
    assert filled.rows("SELECT * FROM review") == []


@on_sqlite
def test_it_looks_again_until_it_is_stopped(filled: Database, new: Callable[..., Reviews], monkeypatch: pytest.MonkeyPatch) -> None:
    one = new(filled)
    waited: list[float] = []

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        if len(waited) == 3:
            one.stop()
        return False

    monkeypatch.setattr(one._stop, "wait", wait)
    one.run()
    assert waited == [1.0, 1.0, reviews_module.LOOK_EVERY_S]
