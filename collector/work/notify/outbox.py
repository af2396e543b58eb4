"""Sends what is due: claims each delivery first, so that of several workers one sends it, and notes what came of it."""

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
from sqlalchemy.exc import SQLAlchemyError

from collector.alert_store import AlertStore
from collector.core.channels import ALERTMANAGER, PAGERDUTY, WEBHOOK, ChannelConfig, again_ns
from collector.work.notify.alertmanager import AGAIN_S, ENDED_AGAIN_S, Alertmanager
from collector.work.notify.chat import Chat
from collector.work.notify.pagerduty import PagerDuty
from collector.work.notify.sending import NotSent, Sender
from collector.work.notify.webhook import Webhook
from schemas.alerting import SECOND_NS

# A delivery whose worker is not heard of again is due again after this: longer than any sending takes.
CLAIMED_NS = 120 * SECOND_NS
AT_ONCE = 50
SIDE_BY_SIDE = 4
LOOK_EVERY_S = 1.0

log = logging.getLogger(__name__)


def senders(channels: Sequence[ChannelConfig], client: httpx.Client, site: str) -> dict[str, Sender]:
    """A sender for each channel, by name."""
    made: dict[str, Sender] = {}
    for one in channels:
        if one.kind == WEBHOOK:
            made[one.name] = Webhook(one, client, site)
        elif one.kind == ALERTMANAGER:
            made[one.name] = Alertmanager(one, client)
        elif one.kind == PAGERDUTY:
            made[one.name] = PagerDuty(one, client, site)
        else:
            made[one.name] = Chat(one)
    return made


class Outbox:
    """The deliveries of one database, sent by some channels. At least once: what is not known to have arrived is sent again."""

    def __init__(self, store: AlertStore, channels: Mapping[str, Sender], clock: Callable[[], int]) -> None:
        self._store = store
        self._channels = channels
        self._clock = clock
        self._said_ns = 0
        self._attempts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._stop = threading.Event()

    def attempts(self) -> dict[tuple[str, str], int]:
        """How often each channel was told since the start, by what came of it: sent, failed (and tried again), given_up."""
        with self._lock:
            return dict(self._attempts)

    def _count(self, channel: str, result: str) -> None:
        with self._lock:
            self._attempts[channel, result] += 1

    def step(self) -> int:
        """Send what is due, some side by side. Returns how many were claimed. Raises SQLAlchemyError."""
        due = self._store.due(self._clock(), AT_ONCE)
        if not due:
            return 0
        with ThreadPoolExecutor(SIDE_BY_SIDE, "notify") as pool:
            return sum(pool.map(self._send, due))

    def _send(self, delivery_id: str) -> bool:
        now_ns = self._clock()
        delivery = self._store.claim(delivery_id, now_ns, now_ns + CLAIMED_NS)
        if delivery is None:
            return False
        channel = self._channels.get(delivery.channel)
        try:
            if channel is None:
                raise NotSent("there is no such channel any longer", permanent=True)
            channel.send(delivery, now_ns)
        except NotSent as error:
            now_ns = self._clock()
            again = None if error.permanent else again_ns(delivery.created_ns, delivery.attempts, now_ns, error.retry_after_s)
            then = "given up" if again is None else f"again in {(again - now_ns) // SECOND_NS} s"
            log.warning("delivery %s to %s failed: %s, %s", delivery.id, delivery.channel, error, then)
            self._count(delivery.channel, "given_up" if again is None else "failed")
            self._store.failed(delivery, str(error), again)
        else:
            self._count(delivery.channel, "sent")
            self._store.sent(delivery, self._clock())
        return True

    def say_again(self) -> None:
        """Tell every Alertmanager what still fires and what ended lately, once a minute. What fails now is said in the next."""
        now_ns = self._clock()
        if now_ns - self._said_ns < AGAIN_S * SECOND_NS:
            return
        self._said_ns = now_ns
        for name, channel in self._channels.items():
            if not isinstance(channel, Alertmanager):
                continue
            bodies = self._store.still_told(name, now_ns - ENDED_AGAIN_S * SECOND_NS)
            if bodies:
                try:
                    channel.send_all(bodies, now_ns)
                except NotSent as error:
                    log.warning("%s was not told again what fires: %s", name, error)

    def run(self) -> None:
        """Send until stop() is called."""
        while not self._stop.is_set():
            try:
                self.step()
                self.say_again()
            except SQLAlchemyError as error:
                log.warning("deliveries wait, the database does not answer: %s", type(error).__name__)
            self._stop.wait(LOOK_EVERY_S)

    def stop(self) -> None:
        """Ask run() to return; what is being sent is finished."""
        self._stop.set()
