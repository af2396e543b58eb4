"""Starts the demo fleet from a running dashboard: the button that a fresh `toolvitals up` shows."""

import os
import subprocess
import threading
from importlib.util import find_spec

from cli.orphan import SUPERVISED_VARIABLE
from cli.ports import url
from cli.up import OFFERS_DEMO, command
from schemas.settings import Settings


def offered_fleet(settings: Settings) -> "Fleet | None":
    """The fleet that this process may start: only below `toolvitals up`, and only where its libraries are installed."""
    if not os.environ.get(OFFERS_DEMO) or find_spec("fastmcp") is None or find_spec("mcp") is None:
        return None
    return Fleet(url(settings.host, settings.otlp_http_port))


class Fleet:
    """The demo fleet as a child of this process, which ends with it (see orphan.py)."""

    def __init__(self, endpoint: str) -> None:
        self._endpoint = endpoint
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start it, unless it runs already."""
        with self._lock:
            if not self.running:
                self._process = subprocess.Popen(
                    command("demo", "--send-to", self._endpoint),
                    stdin=subprocess.PIPE,
                    env={**os.environ, SUPERVISED_VARIABLE: "1"},
                    process_group=0,
                )
