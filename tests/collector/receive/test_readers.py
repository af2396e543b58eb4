"""Requests read in processes of their own: the same answers, and no harm when such a process ends."""

import os
import signal
import time

import pytest

from collector.core.decode import Decoder
from collector.receive.failures import Fault, Unreadable
from collector.receive.readers import Readers
from collector.receive.reading import Form, Reader
from schemas.settings import Settings
from tests.collector.receive.bodies import as_json, as_protobuf, span

KEY = b"k" * 16


@pytest.fixture(scope="module")
def readers():
    readers = Readers(Settings(), KEY, 1)
    yield readers
    readers.close()
    readers.close()


@pytest.mark.parametrize("form", Form)
def test_a_process_reads_what_the_reader_reads(readers, form):
    body = as_json(span(), span(traceId="!" if form is Form.JSON else "00")) if form is Form.JSON else as_protobuf(span())
    now_ns = time.time_ns()
    assert readers.read(body, form, now_ns) == Reader(Decoder(Settings(), KEY)).read(body, form, now_ns)


def test_a_failure_crosses_with_its_text_and_reason(readers):
    with pytest.raises(Unreadable, match="not JSON") as caught:
        readers.read(b"{", Form.JSON, 1)
    assert caught.value.reason == "body is not an OTLP request (application/json)"


def test_a_process_that_was_killed_is_replaced_and_the_request_read(readers):
    os.kill(readers._all[0].process.pid, signal.SIGKILL)
    assert readers.read(as_protobuf(span()), Form.PROTOBUF, time.time_ns()).received == 1


def test_a_request_that_ends_the_process_twice_is_refused_for_good(readers, monkeypatch):
    def ends(self, body, form, received_ns):
        os.kill(self.process.pid, signal.SIGKILL)
        return ask(self, body, form, received_ns)

    ask = type(readers._all[0]).ask
    monkeypatch.setattr(type(readers._all[0]), "ask", ends)
    with pytest.raises(Fault, match="twice"):
        readers.read(as_protobuf(span()), Form.PROTOBUF, 1)
    monkeypatch.undo()
    assert readers.read(b"", Form.PROTOBUF, 1).received == 0


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_whole_group_does_not_end_the_process(readers, sent):
    readers.read(b"", Form.PROTOBUF, 1)  # it serves by now
    before = readers._all[0].process.pid
    os.kill(before, sent)
    assert readers.read(b"", Form.PROTOBUF, 1).received == 0
    assert readers._all[0].process.pid == before
