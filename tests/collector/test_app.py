"""Start and stop of a whole collector on a real database: nothing accepted is lost, and a taken port is told plainly."""

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import grpc
import httpx
import pytest
from sqlalchemy import create_engine, text

from collector.app import CannotStart, Collector
from collector.store import Store
from schemas.settings import Settings
from tests.collector.receive.bodies import as_json, as_protobuf, span
from tests.collector.receive.conftest import wait_until
from tests.database import on_sqlite

RUN = """
import logging, sys
from collector.app import run_collector
from schemas.database import open_database
from schemas.settings import Settings
logging.basicConfig(level="INFO", stream=sys.stderr)
settings = Settings(database_url=sys.argv[1], otlp_http_port=int(sys.argv[2]), otlp_grpc_port=0)
run_collector(settings, open_database(settings.sqlalchemy_url))
"""


@pytest.fixture
def settings(url):
    return Settings(database_url=url, otlp_http_port=0, otlp_grpc_port=0)


@pytest.fixture
def collector(settings, engine):
    collector = Collector(settings, Store(engine))
    collector.start()
    yield collector
    collector.stop()


def count(engine, table: str = "tool_span") -> int:
    with engine.connect() as connection:
        return connection.execute(text(f"SELECT count(*) FROM {table}")).scalar_one()


def post(collector: Collector, body: bytes, content_type: str = "application/x-protobuf") -> httpx.Response:
    url = f"http://127.0.0.1:{collector.http_port}/v1/traces"
    return httpx.post(url, content=body, headers={"content-type": content_type}, timeout=30)


def test_b18_resends_are_stored_once_and_one_known_span_does_not_cost_the_rest(collector, engine):
    known = [span() for _ in range(5)]
    answers = [post(collector, as_protobuf(*spans)).status_code for spans in (known, known, [*known, span()])]
    assert answers == [200, 200, 200]
    assert count(engine) == 6


def test_b32_poisoned_strings_are_stored_with_their_neighbours(collector, engine):
    result = {"key": "gen_ai.tool.call.result", "value": {"stringValue": "frame\0by\0frame \ud800 half"}}
    poisoned = span(name="a\0b")
    poisoned["attributes"] += [result, {"key": "error.type", "value": {"stringValue": "x\0y\ud800"}}]
    answer = post(collector, as_json(span(), poisoned, span()), "application/json")
    assert (answer.status_code, answer.json()) == (200, {})
    assert count(engine) == 3
    with engine.connect() as connection:
        stored = connection.execute(text("SELECT name || service || evidence FROM tool_span")).scalars().all()
    assert not any("\0" in one or r"\u0000" in one or r"\ud800" in one for one in stored)


def test_b37_many_exporters_at_once_store_every_span_exactly_once(collector, engine):
    bodies = [[as_protobuf(*[span() for _ in range(20)]) for _ in range(5)] for _ in range(8)]

    def send(mine: list[bytes]) -> None:
        for body in mine:
            assert post(collector, body).status_code == 200

    threads = [threading.Thread(target=send, args=(mine,)) for mine in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(engine) == 8 * 5 * 20


def test_refused_requests_and_spans_are_on_record(collector, engine):
    post(collector, b"no", "application/json")
    post(collector, as_json(span(traceId="!")), "application/json")
    collector.stop()
    with engine.connect() as connection:
        rows = connection.execute(text("SELECT reason, service, count FROM refusal ORDER BY service")).all()
    assert [(row[1], row[2]) for row in rows] == [("", 1), ("docs-mcp", 1)]


@on_sqlite
def test_ports_are_bound_to_the_host_only(collector):
    assert collector.http_port != collector.grpc_port
    for port in (collector.http_port, collector.grpc_port):
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.bind(("127.0.0.2", port))  # free: the collector listens on 127.0.0.1 alone


@on_sqlite
@pytest.mark.parametrize("setting", ["otlp_http_port", "otlp_grpc_port"])
def test_a_taken_port_is_named_with_what_to_do(engine, setting):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ports = {"otlp_http_port": 0, "otlp_grpc_port": 0} | {setting: port}
        option, variable = setting.replace("_", "-"), setting.upper()
        with pytest.raises(CannotStart, match=f"port {port} on 127.0.0.1 .* --{option} or TOOLVITALS_{variable}"):
            Collector(Settings(**ports), Store(engine)).start()


@on_sqlite
def test_two_collectors_cannot_share_the_grpc_port(collector, engine):
    again = Collector(Settings(otlp_http_port=0, otlp_grpc_port=collector.grpc_port), Store(engine))
    with pytest.raises(CannotStart):
        again.start()


@on_sqlite
def test_a_stopped_collector_answers_nothing_and_can_be_stopped_again(collector):
    collector.stop()
    collector.stop()
    with pytest.raises(httpx.ConnectError):
        post(collector, as_protobuf(span()))
    with grpc.insecure_channel(f"127.0.0.1:{collector.grpc_port}") as channel, pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")(b"", timeout=5)
    assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


def bytes_in_work(port: int) -> int:
    held: int = httpx.get(f"http://127.0.0.1:{port}/healthz").json()["bytes_in_work"]
    return held


def request_head(content_type: str, length: int) -> bytes:
    return f"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n".encode()


@pytest.fixture
def process(settings, engine):
    """A collector in a process of its own; yields it and its port, read from its log."""
    command = [sys.executable, "-c", RUN, settings.database_url, "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=os.getcwd())
    for line in process.stderr:
        if found := re.search(r"http://127.0.0.1:(\d+)/v1/traces", line):
            break
    yield process, int(found[1])
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


@on_sqlite
@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_flight_at_the_signal_is_committed_and_answered(process, engine, asked):
    running, port = process
    body = as_protobuf(*[span() for _ in range(100)])
    # The database is held by another writer, so the request is in work when the signal comes.
    holder = create_engine(engine.url)
    with holder.connect() as connection:
        connection.connection.dbapi_connection.isolation_level = None
        connection.connection.dbapi_connection.execute("BEGIN IMMEDIATE")
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(request_head("application/x-protobuf", len(body)) + body)
            wait_until(lambda: bytes_in_work(port) == len(body))
            running.send_signal(asked)
            while True:  # until it listens no more
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                except (ConnectionRefusedError, ConnectionResetError):
                    break
            connection.connection.dbapi_connection.execute("ROLLBACK")
            client.settimeout(60)
            status = client.recv(4096).split()[1]
    holder.dispose()
    assert running.wait(60) == 0
    assert (status, count(engine)) == (b"200", 100)


@on_sqlite
def test_a_request_half_sent_at_the_signal_is_answered_with_503(process, engine):
    running, port = process
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(request_head("application/json", 5000) + b"{")
        wait_until(lambda: bytes_in_work(port) == 1)
        running.send_signal(signal.SIGTERM)
        client.settimeout(60)
        answer = client.recv(4096)
    assert running.wait(60) == 0
    assert answer.split()[1] == b"503"
    assert b"retry-after: 2" in answer.lower()
    assert count(engine) == 0


@on_sqlite
def test_a_taken_port_ends_the_process_with_one_line(settings, engine):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        ended = subprocess.run([sys.executable, "-c", RUN, settings.database_url, port], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.startswith(f"toolvitals: port {port} on 127.0.0.1 cannot be had")
    assert ended.stderr.count("\n") == 1


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_kill_9_loses_nothing_that_was_answered_and_leaves_no_process_behind(process, engine):
    running, port = process
    headers = {"content-type": "application/x-protobuf"}
    for _ in range(3):
        body = as_protobuf(*[span() for _ in range(50)])
        assert httpx.post(f"http://127.0.0.1:{port}/v1/traces", content=body, headers=headers, timeout=30).status_code == 200
    children = children_of(running.pid)
    assert children
    running.kill()
    running.wait()
    assert count(engine) == 150
    deadline = time.monotonic() + 60
    while any(runs(child) for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.05)
