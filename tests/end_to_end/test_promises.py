"""The promises to those who send: nothing acknowledged is lost, nothing is counted twice, busy readers change nothing."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.end_to_end.conftest import Running
from tests.end_to_end.load import deliver, export_all, request

pytestmark = pytest.mark.end_to_end


def test_kill_in_the_middle_loses_no_acknowledged_span_and_counts_none_twice(up: Running) -> None:
    bodies = [[request(exporter, number, 50) for number in range(60)] for exporter in range(4)]
    acknowledged, killed = threading.Semaphore(0), threading.Event()

    def kill() -> None:
        for _ in range(80):
            acknowledged.acquire()
        os.kill(up.children()["collect"], signal.SIGKILL)
        killed.set()

    killer = threading.Thread(target=kill)
    killer.start()
    attempts: list[int] = []

    def export(own: list[bytes]) -> None:
        with httpx.Client(timeout=30, trust_env=False) as client:
            for body in own:
                # Whoever is fast keeps one back for a collector that is down.
                assert body is not own[-1] or killed.wait(60)
                attempts.append(deliver(client, up.http, body))
                acknowledged.release()

    exporters = [threading.Thread(target=export, args=(own,)) for own in bodies]
    for exporter in exporters:
        exporter.start()
    for exporter in exporters:
        exporter.join()
    killer.join()
    assert len(attempts) == 4 * 60
    assert max(attempts) > 1, "the kill came too late to matter"
    sent = 4 * 60 * 50
    up.settled(calls=sent, tool_spans=sent)
    assert up.rows("SELECT COUNT(DISTINCT span_id), COUNT(*) FROM tool_span") == [(sent, sent)]
    assert "collector ended (killed by SIGKILL)" in up.log.read_text()


@contextmanager
def readers(urls: list[str]) -> Iterator[list[int]]:
    """People who reload pages all the time; gives the list that their status codes are added to."""
    codes: list[int] = []
    stop = threading.Event()

    def reload(url: str) -> None:
        with httpx.Client(timeout=30, trust_env=False) as client:
            while not stop.is_set():
                codes.append(client.get(url).status_code)
                stop.wait(0.1)

    threads = [threading.Thread(target=reload, args=(url,)) for url in urls]
    for thread in threads:
        thread.start()
    try:
        yield codes
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_eight_exporters_beside_busy_readers_store_each_span_once(up: Running) -> None:
    bodies = [[request(exporter, number, 100) for number in range(50)] for exporter in range(8)]
    with readers([f"{up.web}/", f"{up.web}/tools", f"{up.web}/api/v1/status"]) as codes:
        export_all(up.http, 8, bodies)
    status = up.settled(calls=40_000, tool_spans=40_000)
    # A resend after a lost answer may add to both, never to what is stored.
    assert status["received_spans"] == 40_000 + status["duplicate_spans"]
    assert set(codes) == {200}
