"""Serve an ASGI application on a free loopback port, in a thread that speaks for one service."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from cli.demo.telemetry import acting_as

START_WITHIN_S = 20.0


@contextmanager
def hosted(application: Any, service: str) -> Iterator[str]:
    """Serve until the block ends; gives the URL of its MCP endpoint."""
    server = uvicorn.Server(uvicorn.Config(application, log_level="error", access_log=False, timeout_graceful_shutdown=1))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=(server, listener, service), name=service, daemon=True)
        thread.start()
        deadline_s = time.monotonic() + START_WITHIN_S
        while not server.started:
            if not thread.is_alive() or time.monotonic() > deadline_s:
                raise RuntimeError(f"{service} did not start")
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
        finally:
            server.should_exit = True
            thread.join(timeout=5)


def _serve(server: uvicorn.Server, listener: socket.socket, service: str) -> None:
    with acting_as(service):
        server.run(sockets=[listener])
