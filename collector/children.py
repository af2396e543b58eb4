"""A process of one's own for work that holds the interpreter: fresh, at the other end of a pipe, and gone when that end is gone."""

import gc
import multiprocessing
import signal
from collections.abc import Callable
from typing import Any

GARBAGE_THRESHOLD = 50_000


class Child:
    """A running process. `serve` is called in it with its end of the pipe and the arguments; it must return once the pipe ends.

    Signals that reach the whole group do not end it earlier, so that what it is at comes to its end.
    """

    def __init__(self, name: str, serve: Callable[..., None], *arguments: Any) -> None:
        self._name = name
        self._arguments = (serve, *arguments)
        self._start()

    def _start(self) -> None:
        # A fresh interpreter: a fork would copy the locks of threads that do not exist in it.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(target=_run, args=(theirs, *self._arguments), name=self._name, daemon=True)
        self.process.start()
        theirs.close()  # so that the end of the process is the end of the pipe

    def restart(self) -> None:
        """Start it anew."""
        self.close()
        self._start()

    def close(self) -> None:
        """End the pipe, and wait until the process has ended."""
        self.connection.close()
        self.process.join()
        self.process.close()


def _run(connection: Any, serve: Callable[..., None], *arguments: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    collect_seldom()
    serve(connection, *arguments)


def collect_seldom() -> None:
    """Look for garbage in circles seldom: spans and calls are thousands of small objects that all end together, and hold no circles."""
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD, 20, 20)
