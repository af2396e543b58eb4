"""The way of a request from its bytes to the commit, the same for both protocols."""

import hmac
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from collector.metrics import Received
from collector.receive.failures import TABLE, Failure, Fault, Unauthenticated
from collector.receive.inflate import inflate
from collector.receive.notes import Notes
from collector.receive.reading import Form
from collector.receive.room import Place, Room
from collector.receive.writer import Writer
from schemas.settings import Settings
from schemas.spans import Decoded, Refusal

log = logging.getLogger(__name__)

# Offenders named in the message of a partial success.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Taken:
    """A request on its way into the database. `committed` gives None after the commit or raises a Failure; answer only then."""

    committed: Future[None]
    rejected: int
    message: str


class Ingest:
    """Takes requests: checks the token, inflates, parses, decodes, hands to the writer. Safe to call from any thread."""

    def __init__(
        self,
        settings: Settings,
        read: Callable[[bytes, Form, int], Decoded],
        writer: Writer,
        now_ns: Callable[[], int],
    ) -> None:
        self._read = read
        self._writer = writer
        self._now_ns = now_ns
        self._token = _token(settings)
        self._lock = threading.Lock()
        self.ignored = {"metrics": 0, "logs": 0}
        self._failures: Counter[str] = Counter({kind.__name__: 0 for kind in TABLE})
        self.room = Room(settings.max_waiting_bytes)
        # A request must fit twice, as sent and as inflated; one that never fits must not be asked to come again.
        self.limit = min(settings.max_body_bytes, settings.max_waiting_bytes // 2)
        self.notes = Notes(writer)

    def check_token(self, authorization: str | None, api_key: str | None) -> None:
        """Raise Unauthenticated unless one of the two headers carries the token, or none is asked for."""
        if self._token is None:
            return
        scheme, _, bearer = (authorization or "").partition(" ")
        given = (bearer.strip() if scheme.lower() == "bearer" else "", api_key or "")
        # Both are always compared, and in constant time, so that the time tells nothing of the token.
        right = [hmac.compare_digest(one.encode("latin-1", "replace"), self._token) for one in given]
        if not any(right):
            raise Unauthenticated(
                "the ingest token is missing or wrong: send it as Authorization: Bearer … or x-api-key, "
                "for example in OTEL_EXPORTER_OTLP_HEADERS",
                reason="ingest token missing or wrong",
            )

    def ignore(self, signal: str) -> None:
        """Count a request of metrics or logs: one endpoint setting serves all signals, and exporters must not log errors."""
        with self._lock:
            self.ignored[signal] += 1

    def note(self, failure: Failure) -> None:
        """Count a request that is answered with a failure, and log it if it is a mistake of ours."""
        if isinstance(failure, Fault):
            log.error("a request met a mistake in toolvitals and is refused: %s, in %s", failure.reason, failure.place)
        with self._lock:
            self._failures[type(failure).__name__] += 1
        self.notes.add(failure)

    def received(self) -> Received:
        """What came since the start, and what is in work."""
        written = self._writer.written()
        with self._lock:
            failures, ignored = dict(self._failures), dict(self.ignored)
        return Received(
            spans=written.spans,
            requests=written.requests,
            commits=written.commits,
            commit_seconds=written.seconds,
            failures=failures,
            ignored=ignored,
            waiting_requests=written.waiting,
            work_bytes=self.room.held,
            work_bytes_limit=self.room.capacity,
        )

    def take(self, body: bytes, coding: str, form: Form, place: Place) -> Taken:
        """Bring a request on its way; `place` holds the bytes of `body` already. Raises a Failure. Takes long: use a thread."""
        inflated = inflate(body, coding, self.limit, place.grow)
        if inflated is not body:
            place.shrink(len(body))
        decoded = self._read(inflated, form, self._now_ns())
        if decoded.received == 0:
            nothing: Future[None] = Future()
            nothing.set_result(None)
            return Taken(nothing, 0, "")
        rejected = sum(refusal.count for refusal in decoded.refusals)
        return Taken(self._writer.submit(decoded), rejected, _message(decoded, rejected))


def _message(decoded: Decoded, rejected: int) -> str:
    if not rejected:
        return ""
    named = "; ".join(_named(refusal) for refusal in decoded.refusals[:NAMED])
    more = len(decoded.refusals) - NAMED
    return f"{rejected} of {decoded.received} spans refused: {named}" + (f"; and {more} more reasons" if more > 0 else "")


def _named(refusal: Refusal) -> str:
    example = f", such as {refusal.sample}" if refusal.sample else ""
    return f"{refusal.reason} ({refusal.count} of {refusal.service or 'an unknown service'}{example})"


def _token(settings: Settings) -> bytes | None:
    return None if settings.ingest_token is None else settings.ingest_token.get_secret_value().encode()
