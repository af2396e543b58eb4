"""Keeps the reviews of all weeks up to date, and has each sent on its Monday; in a thread of its own, by one worker of several."""

import json
import logging
import threading
from collections.abc import Callable, Sequence

import orjson
from sqlalchemy.exc import SQLAlchemyError

from collector.core.channels import APPRISE, WEBHOOK, ChannelConfig
from collector.core.review.due import Known, candidates, closed, due, sending
from collector.core.review.telling import delivery_id, message
from collector.leases import Leases
from collector.review_counts import ReviewCounts
from collector.review_store import ReviewStore, Stored
from collector.work.reviewing import Reviewer
from schemas.alerting import DUE, REVIEW, SECOND_NS, Delivery
from schemas.reviewing import KEYS
from schemas.rollups import DAY_NS
from schemas.weeks import Week

LOOK_EVERY_S = 60.0
# For so long there are counts by the minute and spans, by which suspects and faults of contracts are found, by default.
EVIDENCE_NS = 14 * DAY_NS
# Another worker does it once this one has not been heard of for so long: a review takes seconds.
LEASE_NS = 10 * 60 * SECOND_NS
# Reviews are read at leisure: they go to webhooks and chats, not to what wakes people or takes them for alerts.
TOLD = (WEBHOOK, APPRISE)

log = logging.getLogger(__name__)


class Stopped(Exception):
    """The worker stops: a review that is being made is left for the next start."""


class Reviews:
    """The reviews of a zone. `step` makes one review at most; rows say what is done, so any worker goes on where another was."""

    def __init__(
        self,
        counts: ReviewCounts,
        store: ReviewStore,
        leases: Leases,
        reviewer: Reviewer,
        zone: str,
        channels: Sequence[ChannelConfig],
        site: str,
        clock: Callable[[], int],
    ) -> None:
        self._counts = counts
        self._store = store
        self._leases = leases
        self._reviewer = reviewer
        self._zone = zone
        self._channels = [one for one in channels if one.kind in TOLD]
        self._site = site
        self._clock = clock
        self._stop = threading.Event()

    def step(self) -> Week | None:
        """Make the first review that is due and send what is to be sent. Returns the week that was looked at. Raises SQLAlchemyError."""
        now_ns = self._clock()
        if not self._leases.take("reviews", now_ns, now_ns + LEASE_NS):
            return None
        weeks = candidates(self._zone, now_ns, self._counts.first_bucket())
        for week in weeks:
            stored = self._store.latest(self._zone, week.name)
            if due(week, None if stored is None else Known(stored.revision, stored.created_ns), now_ns) and self._tried(
                week, stored, now_ns
            ):
                return week
        if self._channels and (ended := sending(weeks, now_ns)) is not None:
            self._send(ended, now_ns)
        return None

    def _tried(self, week: Week, stored: Stored | None, now_ns: int) -> bool:
        """Look at a week. Returns whether that went well: one that cannot be reviewed must not keep the others from it."""
        try:
            self._renew(week, stored, now_ns)
        except (SQLAlchemyError, Stopped):
            raise
        except Exception:
            log.exception("the review of %s could not be made", week.name)
            return False
        return True

    def _renew(self, week: Week, stored: Stored | None, now_ns: int) -> None:
        """Make a review, unless it is closed and nothing that it counts has changed."""
        # Read before the numbers are: what comes in between is seen the next time.
        seen = self._reviewer.seen(week)
        old = stored.revision if stored is not None else 0
        if stored is not None and old and seen == stored.seen:
            # Looked at, and nothing new.
            self._store.save(self._zone, week.name, Stored(old, now_ns, stored.seen, stored.content))
            return
        revision = old + 1 if closed(week, now_ns) else 0
        # By way of the text that is stored, so that what is compared and sent is what pages show.
        content = orjson.loads(orjson.dumps(self._reviewer.make(week, now_ns, revision, self._go_on).record()))
        if stored is not None and now_ns - week.start_ns > EVIDENCE_NS:
            # What they were found by has gone: late data does not undo them.
            content |= {name: stored.content[name] for name in ("suspects", "contract")}
        if stored is not None and old and _numbers(content) == _numbers(stored.content):
            self._store.save(self._zone, week.name, Stored(old, now_ns, seen, stored.content))
            return
        self._store.save(self._zone, week.name, Stored(revision, now_ns, seen, content))
        log.info("review of %s: %s", week.name, f"revision {revision}" if revision else "not closed yet")

    def _send(self, week: Week, now_ns: int) -> None:
        stored = self._store.latest(self._zone, week.name)
        if stored is None or not stored.revision:
            return
        numbers = stored.content["numbers"]["operations"]
        if not numbers["value"] and not numbers["last_week"]:
            return
        content = {
            **stored.content,
            "actions": [{"closed_ns": one.closed_ns} for one in self._store.actions(self._zone, week.name, week.start_ns)],
        }
        body = message(content, self._site, now_ns)
        deliveries = [
            Delivery(delivery_id(self._zone, week.name, one.name), "", one.name, REVIEW, now_ns, DUE, 0, now_ns, body)
            for one in self._channels
        ]
        if self._store.tell(deliveries):
            log.info("review of %s is sent to %s", week.name, ", ".join(one.name for one in self._channels))

    def run(self) -> None:
        """Keep reviews up to date until stop() is called."""
        while not self._stop.is_set():
            looked: Week | None = None
            try:
                looked = self.step()
            except SQLAlchemyError as error:
                log.warning("reviews wait, the database does not answer: %s", type(error).__name__)
            except Stopped:
                return
            # After an upgrade several are due: they follow each other.
            self._stop.wait(1.0 if looked is not None else LOOK_EVERY_S)

    def stop(self) -> None:
        """Ask run() to return; a review that is being made is left."""
        self._stop.set()

    def _go_on(self, _done: float, _what: str) -> None:
        if self._stop.is_set():
            raise Stopped


def _numbers(content: object) -> str:
    """What a review says, but for when it was counted and which revision it is."""
    assert isinstance(content, dict)
    said = {name: content[name] for name in KEYS if name not in ("revision", "actions")}
    said["numbers"] = {**said["numbers"], "data": None}
    return json.dumps(said, sort_keys=True)
