"""Requests that were refused whole, counted in the table of refusals: exporters show their errors to no one."""

import threading
from concurrent.futures import Future

from collector.receive.failures import Failure, Healing
from collector.receive.writer import Writer
from schemas.spans import Decoded, Refusal

SAMPLE_LENGTH = 128


class Notes:
    """Counts refused requests by reason. Never makes the exporter wait, and never has more than one write under way.

    The reasons are few and hold nothing of the body, so a flood of bad requests costs neither memory nor transactions.
    What could not be written is written with the next.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lock = threading.Lock()
        self._counts: dict[str, tuple[int, str]] = {}
        self._under_way = False

    def add(self, failure: Failure) -> None:
        """Count a request that failed for good. One that will be sent again is not refused."""
        if isinstance(failure, Healing):
            return
        with self._lock:
            count, sample = self._counts.get(failure.reason, (0, failure.text[:SAMPLE_LENGTH]))
            self._counts[failure.reason] = count + 1, sample
        self.write()

    def write(self) -> None:
        """Hand to the writer what is counted and not yet written, unless it has some already."""
        with self._lock:
            if self._under_way or not self._counts:
                return
            counts, self._counts = self._counts, {}
            self._under_way = True
        refusals = tuple(Refusal(reason, "", count, sample) for reason, (count, sample) in counts.items())
        try:
            written = self._writer.submit(Decoded(0, (), (), refusals, ()))
        except Failure:  # the writer is closed
            self._done(counts)
            return
        written.add_done_callback(lambda future: self._finished(future, counts))

    def _finished(self, future: "Future[None]", counts: dict[str, tuple[int, str]]) -> None:
        if future.exception() is None:
            self._done({})
            self.write()
        else:
            self._done(counts)

    def _done(self, unwritten: dict[str, tuple[int, str]]) -> None:
        with self._lock:
            self._under_way = False
            for reason, (count, sample) in unwritten.items():
                self._counts[reason] = self._counts.get(reason, (0, sample))[0] + count, sample
