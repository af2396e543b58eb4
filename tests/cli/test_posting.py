"""A body is sent until it is taken, refused for good, or the attempts are used up."""

import gzip
import itertools
from collections.abc import Callable

import httpx
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTracePartialSuccess, ExportTraceServiceResponse

from cli.bodies import JSON, PROTOBUF, Body
from cli.posting import ATTEMPTS, Answer, post

BODY = Body("a.pb", "traces", PROTOBUF, b"\x0a\x00")
Handler = Callable[[httpx.Request], httpx.Response]


def sent(handler: Handler, body: Body = BODY, **options: bool) -> tuple[Answer, list[float]]:
    """Post through a receiver that is a function; gives the answer and the pauses that were made."""
    pauses: list[float] = []
    with httpx.Client(transport=httpx.MockTransport(handler)) as client:
        return post(client, "http://receiver/", body, {"x-api-key": "k"}, sleep=pauses.append, **options), pauses


def answers(*responses: httpx.Response) -> Handler:
    """A receiver that gives these answers in turn, the last one for ever."""
    rest = itertools.chain(responses, itertools.repeat(responses[-1]))
    return lambda request: next(rest)


def protobuf(status: int, message: Status | ExportTraceServiceResponse, **headers: str) -> httpx.Response:
    """An answer as an OTLP receiver writes it."""
    return httpx.Response(status, content=message.SerializeToString(), headers={"Content-Type": PROTOBUF, **headers})


def test_stored_body_is_sent_once() -> None:
    requests: list[httpx.Request] = []

    def receiver(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200)

    assert sent(receiver, zipped=True) == (Answer(), [])
    [request] = requests
    assert str(request.url) == "http://receiver/v1/traces"
    assert gzip.decompress(request.content) == BODY.content
    assert request.headers["content-encoding"] == "gzip"
    assert request.headers["x-api-key"] == "k"


def test_partial_success_is_told() -> None:
    partial = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="bad ids"))
    assert sent(answers(protobuf(200, partial)))[0] == Answer(rejected=2, message="bad ids")


def test_partial_success_in_json_is_told() -> None:
    response = httpx.Response(200, json={"partialSuccess": {"rejectedSpans": "2", "errorMessage": "bad ids"}})
    answer, _ = sent(answers(response), Body("a.json", "traces", JSON, b"{}"))
    assert answer == Answer(rejected=2, message="bad ids")


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_heal_is_tried_again(status: int) -> None:
    busy = protobuf(status, Status(message="busy"))
    assert sent(answers(busy, busy, httpx.Response(200))) == (Answer(), [0.2, 0.4])


def test_retry_after_is_honoured() -> None:
    busy = protobuf(503, Status(message="busy"), **{"Retry-After": "3"})
    assert sent(answers(busy, httpx.Response(200))) == (Answer(), [3.0])


def test_retry_after_as_a_past_date_means_soon() -> None:
    busy = protobuf(503, Status(message="busy"), **{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"})
    assert sent(answers(busy, httpx.Response(200))) == (Answer(), [0.2])


@pytest.mark.parametrize("status", [400, 401, 413, 415, 500])
def test_what_is_refused_for_good_is_not_tried_again(status: int) -> None:
    assert sent(answers(protobuf(status, Status(message="no")))) == (Answer(f"HTTP {status}: no"), [])


def test_patience_ends() -> None:
    answer, pauses = sent(answers(protobuf(503, Status(message="busy"))))
    assert answer == Answer(f"HTTP 503: busy (after {ATTEMPTS} attempts)")
    assert len(pauses) == ATTEMPTS - 1


def test_lost_connection_is_tried_again() -> None:
    count = itertools.count()

    def receiver(request: httpx.Request) -> httpx.Response:
        if next(count) == 0:
            raise httpx.ConnectError("refused")
        return httpx.Response(200)

    assert sent(receiver) == (Answer(), [0.2])


def test_answer_that_is_no_otlp_is_told() -> None:
    page = httpx.Response(200, text="<html>welcome</html>", headers={"Content-Type": "text/html"})
    assert sent(answers(page))[0] == Answer(message="the answer is not an OTLP response")
