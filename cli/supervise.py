"""Keep child processes running: start, restart with a growing pause, stop in order."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx

from cli.orphan import SUPERVISED_VARIABLE

FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
STEADY_S = 60.0
# Longer than the collector waits for requests in work (collector.app).
GRACE_S = 15.0
TICK_S = 0.1
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Part:
    """One child: what runs it, and the address that answers once it is ready (None: being alive is enough)."""

    name: str
    command: tuple[str, ...]
    ready_url: str | None = None


def next_pause(last_pause_s: float, alive_s: float) -> float:
    """Seconds to wait before a part that died is started again: doubled each time, from the start once it ran steadily."""
    if last_pause_s == 0 or alive_s >= STEADY_S:
        return FIRST_PAUSE_S
    return min(last_pause_s * 2, LONGEST_PAUSE_S)


@dataclass(slots=True)
class _Child:
    part: Part
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    due_s: float = 0.0
    pause_s: float = 0.0
    ready: bool = False


@dataclass(slots=True)
class Supervisor:
    """Runs parts in the given order and stops them in the same order."""

    parts: tuple[Part, ...]
    environment: Mapping[str, str]
    say: Callable[[str], None]
    on_ready: Callable[[], None]
    grace_s: float = GRACE_S
    _stops: int = 0
    _children: list[_Child] = field(default_factory=list)

    def run(self) -> None:
        """Start all parts, watch them until SIGINT, SIGTERM or SIGHUP, then stop them in order."""
        # Who starts it with nohup wants it to outlive the terminal.
        outlives = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        heeded = STOP_SIGNALS[:2] if outlives else STOP_SIGNALS
        before = {number: signal.signal(number, self._stop) for number in heeded}
        self._children = [_Child(part) for part in self.parts]
        try:
            with httpx.Client(timeout=1.0, trust_env=False) as client:
                told = False
                while not self._stops:
                    for child in self._children:
                        self._step(child, time.monotonic())
                    if not told and all(self._is_ready(child, client) for child in self._children) and not self._stops:
                        told = True
                        self.on_ready()
                    time.sleep(TICK_S)
        finally:
            for child in self._children:
                self._end(child)
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: object) -> None:
        self._stops += 1

    def _step(self, child: _Child, now_s: float) -> None:
        if child.process is None:
            if now_s >= child.due_s:
                self._start(child, now_s)
            return
        code = child.process.poll()
        if code is None:
            return
        self._close(child)
        child.pause_s = next_pause(child.pause_s, now_s - child.started_s)
        child.due_s = now_s + child.pause_s
        self.say(f"{child.part.name} ended ({_meaning(code)}); it starts again in {child.pause_s:g} s")

    def _start(self, child: _Child, now_s: float) -> None:
        child.started_s = now_s
        child.process = subprocess.Popen(
            child.part.command,
            # Never written to: its end tells the child that this process is gone (see orphan.py).
            stdin=subprocess.PIPE,
            env={**os.environ, **self.environment, SUPERVISED_VARIABLE: "1"},
            # A group of its own: Ctrl-C in the terminal reaches this process alone, which then stops the parts in order.
            process_group=0,
        )

    def _is_ready(self, child: _Child, client: httpx.Client) -> bool:
        if child.process is None or child.process.poll() is not None:
            return False
        if child.part.ready_url is None or child.ready:
            return True
        try:
            child.ready = client.get(child.part.ready_url).is_success
        except httpx.HTTPError:
            child.ready = False
        return child.ready

    def _end(self, child: _Child) -> None:
        if child.process is None:
            return
        if child.process.poll() is None:
            child.process.terminate()
            if not self._gone_within(child.process, self.grace_s):
                self.say(f"{child.part.name} did not stop within {self.grace_s:g} s and is killed")
                child.process.kill()
                child.process.wait()
        self._close(child)

    def _gone_within(self, process: subprocess.Popen[bytes], grace_s: float) -> bool:
        deadline_s = time.monotonic() + grace_s
        # A second Ctrl-C means now.
        while time.monotonic() < deadline_s and self._stops < 2:
            if process.poll() is not None:
                return True
            time.sleep(TICK_S / 2)
        return process.poll() is not None

    def _close(self, child: _Child) -> None:
        if child.process is not None and child.process.stdin is not None:
            child.process.stdin.close()
        child.process = None
        child.ready = False


def _meaning(code: int) -> str:
    if code < 0:
        return f"killed by {signal.Signals(-code).name}"
    return f"exit code {code}"
