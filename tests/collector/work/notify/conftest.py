"""A receiver on a real port that answers as a test says, and everything that it was sent."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

STALL, DROP = "stall", "drop"


@dataclass
class Receiver:
    """`answers` are taken one after the other: a status, (status, headers), STALL or DROP; then 200 for ever."""

    answers: list[Any] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    raw: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver that takes everything, unless told otherwise."""
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            state.raw.append(raw)
            state.bodies.append(json.loads(raw))
            state.headers.append({name.lower(): value for name, value in self.headers.items()})
            state.paths.append(self.path)
            state.arrived.set()
            answer = state.answers.pop(0) if state.answers else 200
            if answer == DROP:
                self.close_connection = True
                return
            if answer == STALL:
                state.released.wait()
                self.close_connection = True
                return
            status, headers = answer if isinstance(answer, tuple) else (answer, {})
            self.send_response(status)
            for name, value in {"content-length": "0", **headers}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        state.released.set()
        server.shutdown()
        thread.join()
