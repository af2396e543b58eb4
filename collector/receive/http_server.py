"""Runs the web application on its own thread and event loop, and stops it without losing a request."""

import socket
import threading
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

# Longer than the pause between two batches of any exporter: a connection that closes just then looks like a failure.
KEEP_ALIVE_S = 120


class HttpServer:
    """uvicorn on a socket of ours. `at_shutdown` is called in its event loop when it stops taking requests."""

    def __init__(self, app: ASGIApp, at_shutdown: Callable[[], None], grace_s: int) -> None:
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=grace_s,
        )
        self._server = _Server(config, at_shutdown)
        self._thread = threading.Thread(name="http", target=self._run)

    def start(self, host: str, port: int) -> int:
        """Bind to this address only, and serve; 0 takes any free port. Gives the port. Raises OSError if it cannot be bound."""
        self._socket = bound_socket(host, port)
        self._thread.start()
        self._server.settled.wait()
        bound: int = self._socket.getsockname()[1]
        return bound

    def stop(self) -> None:
        """Take nothing new, answer what is in work, then end."""
        self._server.should_exit = True
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._server.settled.set()


class _Server(uvicorn.Server):
    """Tells when it serves and when it stops."""

    def __init__(self, config: uvicorn.Config, at_shutdown: Callable[[], None]) -> None:
        super().__init__(config)
        self._at_shutdown = at_shutdown
        self.settled = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.settled.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._at_shutdown()
        await super().shutdown(sockets)


def cannot_be_had(error: Exception, what: str, host: str, port: int, setting: str) -> str:
    """In a sentence, why a port could not be bound and what to do; `setting` is the one that chooses it."""
    why = error.strerror if isinstance(error, OSError) and error.strerror else "it is in use, or not allowed"
    return (
        f"port {port} on {host} cannot be had for {what} ({why}): stop what listens there, "
        f"or choose another with --{setting.replace('_', '-')} or TOOLVITALS_{setting.upper()}"
    )


def bound_socket(host: str, port: int) -> socket.socket:
    """A listening socket on this address. Raises OSError."""
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    listener = socket.socket(family)
    try:
        # A restart need not wait for the connections of the process before.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(2048)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
