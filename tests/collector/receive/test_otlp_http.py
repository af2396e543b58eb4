"""OTLP over HTTP on a real port: forms, codings, limits, refusals, and answers in the form of their request."""

import gzip
import json
import socket
import threading
import zlib

import httpx
import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from sqlalchemy.exc import DataError, OperationalError

from tests.collector.receive.bodies import as_json, as_protobuf, span
from tests.collector.receive.conftest import wait_until

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
BASE64_ID = "W47/95gDgQPSabYzgT/GDA=="


def status_in(answer: httpx.Response) -> Status:
    if answer.headers["content-type"] == PROTOBUF:
        return Status.FromString(answer.content)
    return Status(**answer.json())


@pytest.mark.parametrize("content_type", [JSON, "application/json; charset=utf-8", "Application/JSON"])
def test_json_is_answered_in_json(edge, content_type):
    answer = edge.post(as_json(span()), content_type)
    assert (answer.status_code, answer.headers["content-type"], answer.json()) == (200, JSON, {})
    assert edge.store.span_names == ["tools/call search_docs"]


@pytest.mark.parametrize("content_type", [PROTOBUF, "application/x-protobuf; charset=utf-8"])
def test_protobuf_is_answered_in_protobuf_with_partial_success_unset(edge, content_type):
    answer = edge.post(as_protobuf(span()), content_type)
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, PROTOBUF, b"")
    assert edge.store.span_names == ["tools/call search_docs"]


def test_b18_a_batch_sent_again_is_answered_with_success_each_time(edge):
    body = as_protobuf(span())
    assert [edge.post(body).status_code for _ in range(3)] == [200] * 3


def test_b26_upper_case_hex_is_stored_as_the_same_id_as_by_protobuf(edge):
    one = span(traceId="5B8EFFF798038103D269B633813FC60C", spanId="EEE19B7EC3C1B174")
    edge.post(as_json(one), JSON)
    edge.post(as_protobuf(one))
    [by_json], [by_protobuf] = (request.tool_spans for request in edge.store.requests)
    assert by_json.trace_id.hex() == "5b8efff798038103d269b633813fc60c"
    assert (by_json.trace_id, by_json.span_id) == (by_protobuf.trace_id, by_protobuf.span_id)
    assert (by_json.content_hash, by_json.content_size) == (by_protobuf.content_hash, by_protobuf.content_size)


def test_b26_a_base64_id_refuses_its_span_only_and_says_that_hex_is_needed(edge):
    answer = edge.post(as_json(span(name="good"), span(name="bad", traceId=BASE64_ID)), JSON)
    partial = answer.json()["partialSuccess"]
    assert (answer.status_code, partial["rejectedSpans"]) == (200, "1")
    assert "traceId" in partial["errorMessage"]
    assert "hex" in partial["errorMessage"]
    assert edge.store.span_names == ["good"]
    assert sum(edge.store.refused.values()) == 1


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
def test_b26_spans_with_ids_of_zeros_are_refused_alone(edge, form):
    spans = span(name="good"), span(traceId="0" * 32), span(spanId="0" * 16)
    answer = edge.post(as_json(*spans) if form == JSON else as_protobuf(*spans), form)
    rejected = (
        int(answer.json()["partialSuccess"]["rejectedSpans"])
        if form == JSON
        else ExportTraceServiceResponse.FromString(answer.content).partial_success.rejected_spans
    )
    assert (answer.status_code, rejected) == (200, 2)
    assert edge.store.span_names == ["good"]


def zipped(body: bytes) -> bytes:
    return gzip.compress(body)


def joined(body: bytes) -> bytes:
    return gzip.compress(body[:40]) + gzip.compress(body[40:])


def raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(body) + compressor.flush()


def zstd(body: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(body)


def zstd_frames(body: bytes) -> bytes:
    return zstd(body[:40]) + zstd(body[40:])


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
@pytest.mark.parametrize(
    ("named", "encode"),
    [
        ("gzip", zipped),
        ("GZIP", zipped),
        ("x-gzip", zipped),
        ("gzip", joined),
        ("deflate", zlib.compress),
        ("deflate", raw_deflate),
        ("zstd", zstd),
        ("zstd", zstd_frames),
        ("identity", bytes),
    ],
    ids=["gzip", "GZIP", "x-gzip", "two gzip members", "deflate", "raw deflate", "zstd", "two zstd frames", "identity"],
)
def test_b27_a_compressed_body_is_the_same_as_a_plain_one(edge, form, named, encode):
    body = as_json(span()) if form == JSON else as_protobuf(span())
    assert edge.post(encode(body), form, content_encoding=named).status_code == 200
    assert edge.store.span_names == ["tools/call search_docs"]


@pytest.mark.parametrize("named", ["gzip", "deflate", "zstd"])
def test_b27_a_body_that_is_not_what_its_coding_says_is_refused_with_the_reason(edge, named):
    answer = edge.post(as_json(span()), JSON, content_encoding=named)
    assert answer.status_code == 400
    assert f"Content-Encoding {named} but body is not {named}" in answer.json()["message"]


@pytest.mark.parametrize("named", ["gzip", "deflate", "zstd"])
def test_a_compressed_body_that_is_cut_is_refused(edge, named):
    whole = {"gzip": zipped, "deflate": zlib.compress, "zstd": zstd}[named](as_json(span()) * 3)
    answer = edge.post(whole[:-3], JSON, content_encoding=named)
    assert (answer.status_code, answer.json()["message"]) == (400, f"the {named} body is cut: its end is missing")


@pytest.mark.parametrize(("named", "encode"), [("gzip", zipped), ("zstd", zstd), ("deflate", zlib.compress)])
def test_b28_inflating_stops_at_the_limit_and_names_it(serve, named, encode):
    edge = serve(max_body_bytes=100_000)
    answer = edge.post(encode(b" " * 1_000_000), JSON, content_encoding=named)
    assert answer.status_code == 413
    assert "100000 bytes as inflated" in answer.json()["message"]
    assert edge.bytes_in_work == 0


@pytest.mark.parametrize("chunked", [False, True], ids=["with a length", "in chunks"])
def test_b28_a_body_over_the_limit_as_sent_is_refused(serve, chunked):
    edge = serve(max_body_bytes=100_000)
    body = iter([b" " * 60_000] * 2) if chunked else b" " * 120_000
    answer = edge.post(body, JSON)
    assert answer.status_code == 413
    assert "100000 bytes as sent" in answer.json()["message"]
    assert edge.post(as_json(span()), JSON).status_code == 200, "the connection goes on"


@pytest.mark.parametrize("named", ["br", "gzip, gzip", "compress", "secret" * 100])
def test_b28_a_coding_that_is_not_read_is_refused_with_those_that_are(edge, named):
    answer = edge.post(as_json(span()), JSON, content_encoding=named)
    assert answer.status_code == 415
    assert answer.headers["accept-encoding"] == "gzip, deflate, zstd, identity"
    assert "gzip, deflate, zstd, identity" in answer.json()["message"]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b'{"resourceSpans": [ {', JSON),
        (b"", JSON),
        (b"[]", JSON),
        (b'{"resourceSpans": {}}', JSON),
        (b'{"a":' * 100_000, JSON),
        (b"[" * 100_000, JSON),
        (b'{"resourceSpans": []}', PROTOBUF),
        (as_protobuf(span())[:-5], PROTOBUF),
    ],
    ids=["cut JSON", "nothing", "a list", "an object for a list", "deep objects", "deep lists", "JSON as protobuf", "cut"],
)
def test_b30_what_cannot_be_read_is_refused_for_good_and_counted(edge, body, content_type):
    answer = edge.post(body, content_type)
    assert (answer.status_code, answer.headers["content-type"]) == (400, content_type)
    assert "retry-after" not in answer.headers
    assert (status_in(answer).code, bool(status_in(answer).message)) == (3, True)
    edge.collector.stop()
    assert edge.store.refused == {f"body is not an OTLP request ({content_type})": 1}


@pytest.mark.parametrize(
    ("body", "content_type"), [(b"{}", JSON), (b'{"resourceSpans":[]}', JSON), (b'{"resourceSpans":null}', JSON), (b"", PROTOBUF)]
)
def test_b30_an_empty_request_succeeds_and_stores_nothing(edge, body, content_type):
    assert edge.post(body, content_type).status_code == 200
    assert edge.store.groups == []


@pytest.mark.parametrize("text", ["database is locked", "database or disk is full"])
@pytest.mark.parametrize("form", [JSON, PROTOBUF])
def test_b30_a_storage_failure_is_answered_with_503_and_a_time_to_come_again(edge, form, text):
    edge.store.failures = [OperationalError("INSERT", {}, Exception(text))]
    body = as_json(span()) if form == JSON else as_protobuf(span())
    answer = edge.post(body, form)
    assert (answer.status_code, answer.headers["content-type"]) == (503, form)
    assert int(answer.headers["retry-after"]) >= 1
    assert edge.store.groups == []
    assert edge.post(body, form).status_code == 200
    assert edge.store.span_names == ["tools/call search_docs"]


def test_data_that_the_database_refuses_is_not_asked_for_again(edge):
    edge.store.failures = [DataError("INSERT", {}, Exception("no"))]
    answer = edge.post(as_json(span()), JSON)
    assert (answer.status_code, "retry-after" in answer.headers) == (500, False)


@pytest.mark.parametrize("content_type", ["text/plain", "", "application/octet-stream"])
def test_b30_another_content_type_is_refused_with_those_that_are_read(edge, content_type):
    answer = edge.post(as_json(span()), content_type)
    assert (answer.status_code, answer.headers["content-type"]) == (415, JSON)
    assert "application/x-protobuf or application/json" in answer.json()["message"]


def test_b30_unknown_fields_are_ignored_and_snake_case_is_read(edge):
    one = span(extra={"a": 1})
    body = as_json(one).decode()
    for camel, snake in (
        ("resourceSpans", "resource_spans"),
        ("scopeSpans", "scope_spans"),
        ("traceId", "trace_id"),
        ("spanId", "span_id"),
        ("startTimeUnixNano", "start_time_unix_nano"),
        ("stringValue", "string_value"),
    ):
        body = body.replace(camel, snake)
    assert edge.post(body.encode(), JSON).status_code == 200
    assert edge.store.span_names == ["tools/call search_docs"]


def test_b32_nul_and_lone_surrogates_are_replaced_and_the_neighbours_unharmed(edge, caplog):
    body = as_json(span(name="nul \0"), span(name="half \ud800 x"), span(name="pair \U0001f600"), span(name="plain"))
    assert rb"\ud800" in body
    assert edge.post(body, JSON).status_code == 200
    assert edge.store.span_names == ["nul \ufffd", "half \ufffd x", "pair \U0001f600", "plain"]
    assert "half" not in caplog.text


def test_b32_bytes_that_are_not_utf8_are_replaced_in_protobuf_too(edge):
    body = as_protobuf(span(name="bad XXXX"), span(name="plain")).replace(b"XXXX", b"\xff\xfe\xc3X")
    assert edge.post(body).status_code == 200
    assert edge.store.span_names == ["bad \ufffd\ufffd\ufffdX", "plain"]


def test_b34_end_before_start_and_end_zero_are_stored(edge, now_ns):
    early = span(name="early", startTimeUnixNano=str(now_ns), endTimeUnixNano=str(now_ns - 10**9))
    open_end = span(name="open", endTimeUnixNano="0")
    assert edge.post(as_json(early, open_end), JSON).json() == {}
    [first, second] = edge.store.requests[0].tool_spans
    assert (first.start_ns, first.end_ns) == (now_ns, now_ns - 10**9), "raw times are kept"
    assert second.end_ns == 0


def test_start_zero_is_refused_alone(edge):
    answer = edge.post(as_json(span(name="good"), span(startTimeUnixNano="0")), JSON)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "1"
    assert edge.store.span_names == ["good"]


@pytest.mark.parametrize("signal", ["metrics", "logs"])
@pytest.mark.parametrize(("form", "empty"), [(JSON, b"{}"), (PROTOBUF, b"")])
def test_metrics_and_logs_are_ignored_politely_and_counted(edge, signal, form, empty):
    answer = edge.post(b"whatever", form, path=f"/v1/{signal}")
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, form, empty)
    assert edge.client.get("/healthz").json()["ignored_requests"][signal] == 1
    assert edge.post(b"whatever", "text/plain", path=f"/v1/{signal}").status_code == 415


@pytest.mark.parametrize("form", [JSON, PROTOBUF])
def test_other_methods_and_paths_are_answered_in_the_form_of_the_request(edge, form):
    wrong_method = edge.client.get("/v1/traces", headers={"content-type": form})
    assert (wrong_method.status_code, wrong_method.headers["allow"]) == (405, "POST")
    wrong_path = edge.post(b"", form, path="/v1/spans")
    assert wrong_path.status_code == 404
    for answer in (wrong_method, wrong_path):
        assert answer.headers["content-type"] == form
        assert "POST" in status_in(answer).message


TOKEN = "right-token"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": f"Bearer {TOKEN}"}, 200),
        ({"authorization": f"bearer {TOKEN}"}, 200),
        ({"x_api_key": TOKEN}, 200),
        ({}, 401),
        ({"authorization": "Bearer wrong"}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401),
        ({"x_api_key": TOKEN[:-1]}, 401),
    ],
)
def test_the_ingest_token_is_asked_for_when_it_is_set(serve, headers, status):
    edge = serve(ingest_token=TOKEN)
    answer = edge.post(as_json(span()), JSON, **headers)
    assert answer.status_code == status
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert edge.client.get("/healthz").status_code == 200
    assert TOKEN not in answer.text


def test_an_empty_token_does_not_start(serve):
    with pytest.raises(ValueError, match="set but empty"):
        serve(ingest_token="")


def preflight(edge) -> httpx.Response:
    asked = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
    headers = {"origin": "https://app.example", **asked}
    return edge.client.options("/v1/traces", headers=headers)


def test_cors_is_off_unless_origins_are_set(edge):
    assert preflight(edge).status_code == 405
    assert "access-control-allow-origin" not in edge.post(as_json(span()), JSON, origin="https://app.example").headers


def test_cors_lets_the_origins_in_that_are_set(serve):
    edge = serve(cors_origins=("https://app.example",))
    assert preflight(edge).headers["access-control-allow-origin"] == "https://app.example"
    assert edge.post(as_json(span()), JSON, origin="https://app.example").headers["access-control-allow-origin"]


def test_beyond_the_bytes_in_work_exporters_are_asked_to_come_again(serve):
    body = as_protobuf(*[span() for _ in range(20)])
    edge = serve(max_waiting_bytes=len(body) * 2 + 100)
    edge.store.hold()
    answers: list[int] = []

    def send() -> None:
        headers = {"content-type": PROTOBUF}
        answers.append(httpx.post(f"{edge.url}/v1/traces", content=body, headers=headers, timeout=30).status_code)

    waiting = [threading.Thread(target=send) for _ in range(2)]
    for thread in waiting:
        thread.start()
    wait_until(lambda: edge.bytes_in_work == 2 * len(body))
    refused = edge.post(body)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    edge.store.release()
    for thread in waiting:
        thread.join()
    assert answers == [200, 200]
    assert edge.post(body).status_code == 200
    assert edge.bytes_in_work == 0


def test_a_client_that_leaves_while_sending_does_no_harm(edge):
    with socket.create_connection(("127.0.0.1", edge.collector.http_port)) as client:
        head = b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n"
        client.sendall(head + b"{")
        wait_until(lambda: edge.bytes_in_work == 1)
    wait_until(lambda: edge.bytes_in_work == 0)
    assert edge.post(as_json(span()), JSON).status_code == 200


def test_a_mistake_of_ours_is_not_asked_for_again_and_quotes_nothing(edge, monkeypatch, caplog):
    def mistake(request, received_ns):
        raise KeyError("secret of the body")

    monkeypatch.setattr(edge.collector._reader._decoder, "decode", mistake)
    answer = edge.post(as_json(span()), JSON)
    assert (answer.status_code, "retry-after" in answer.headers) == (500, False)
    assert "secret" not in answer.text + caplog.text
    assert "mistake in toolvitals (KeyError), in mistake (test_otlp_http.py:" in caplog.text
    edge.collector.stop()
    assert edge.store.refused == {"mistake in toolvitals (KeyError)": 1}


def test_readiness_tells_of_the_database(edge, monkeypatch):
    assert edge.client.get("/readyz").json() == {"status": "ready"}

    def away():
        raise OperationalError("SELECT", {}, Exception("gone"))

    monkeypatch.setattr(edge.collector._web, "_ready", away)
    answer = edge.client.get("/readyz")
    assert (answer.status_code, answer.json()["error"]) == (503, "OperationalError")


def test_the_message_names_the_first_reasons_and_says_that_there_are_more(edge):
    bad = [span(traceId="zz"), span(spanId="zz"), span(startTimeUnixNano="0"), span(parentSpanId="zz"), span(kind="?")]
    partial = edge.post(as_json(*bad), JSON).json()["partialSuccess"]
    assert partial["rejectedSpans"] == "5"
    assert partial["errorMessage"].startswith("5 of 5 spans refused: ")
    assert partial["errorMessage"].endswith("and 2 more reasons")
    assert json.dumps(partial)
