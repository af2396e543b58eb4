"""Children are started again when they die, stopped in order, and never outlive their parent."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.supervise import Part, Supervisor, next_pause

DEADLINE_S = 60.0


def until(condition: Callable[[], object], what: str) -> None:
    """Wait for something that will happen; fail with what did not."""
    deadline_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"did not happen: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether a process runs (one that only waits to be reaped does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def noting(log: Path, name: str, *, stubborn: bool = False) -> Part:
    """A child that notes its start and its end in a file."""
    on_stop = "pass" if stubborn else f"note('stop {name}'); sys.exit(0)"
    code = (
        "import os, signal, sys, time\n"
        f"note = lambda text: os.write(os.open({str(log)!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT), (text + '\\n').encode())\n"
        f"def stop(*_): {on_stop}\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        f"note(f'start {name} {{os.getpid()}}')\n"
        "while True: time.sleep(0.05)\n"
    )
    return Part(name, (sys.executable, "-c", code))


def lines(log: Path) -> list[str]:
    """What was noted so far."""
    return log.read_text().splitlines() if log.exists() else []


def pids(log: Path, name: str) -> list[int]:
    """The processes that a child has been so far."""
    return [int(line.split()[2]) for line in lines(log) if line.startswith(f"start {name} ")]


def supervised(parts: tuple[Part, ...], then: Callable[[], None], grace_s: float = 10.0) -> list[str]:
    """Run parts; once `then` has returned, stop as Ctrl-C does. Gives what was said."""
    said: list[str] = []
    failures: list[BaseException] = []

    def act() -> None:
        try:
            then()
        except BaseException as error:
            failures.append(error)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    actor = threading.Thread(target=act)
    # Started when all are up: the handlers of signals are in place by then.
    Supervisor(parts, environment={}, say=said.append, on_ready=actor.start, grace_s=grace_s).run()
    actor.join()
    if failures:
        raise failures[0]
    return said


@pytest.mark.parametrize(
    ("last", "alive_s", "expected"),
    [(0, 1, 0.5), (0.5, 1, 1), (16, 1, 30), (30, 1, 30), (30, 61, 0.5)],
    ids=["first time", "doubled", "at most 30 s", "stays there", "a minute alive: from the start"],
)
def test_pause_before_a_restart(last: float, alive_s: float, expected: float) -> None:
    assert next_pause(last, alive_s) == expected


def test_parts_stop_in_their_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = supervised(tuple(noting(log, name) for name in "abc"), lambda: until(lambda: len(lines(log)) == 3, "three starts"))
    assert [line for line in lines(log) if line.startswith("stop")] == ["stop a", "stop b", "stop c"]
    assert said == []


def test_killed_part_starts_again(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def kill() -> None:
        until(lambda: pids(log, "a"), "the first start")
        os.kill(pids(log, "a")[0], signal.SIGKILL)
        until(lambda: len(pids(log, "a")) == 2, "the second start")

    said = supervised((noting(log, "a"), noting(log, "b")), kill)
    assert said == ["a ended (killed by SIGKILL); it starts again in 0.5 s"]
    assert len(pids(log, "b")) == 1


def test_part_that_does_not_stop_is_killed_after_the_grace(tmp_path: Path) -> None:
    log = tmp_path / "log"
    said = supervised((noting(log, "a", stubborn=True),), lambda: until(lambda: lines(log), "the start"), grace_s=0.3)
    assert said == ["a did not stop within 0.3 s and is killed"]
    assert not alive(pids(log, "a")[0])


def test_handlers_of_signals_are_put_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    supervised((), lambda: None)
    assert signal.getsignal(signal.SIGINT) is before


def test_children_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    log = tmp_path / "pid"
    child = (
        "import os, time; from cli.orphan import stop_with_parent; stop_with_parent()\n"
        f"open({str(log)!r}, 'w').write(str(os.getpid()) + ' '); time.sleep(600)\n"
    )
    code = (
        "import sys; from cli.supervise import Part, Supervisor\n"
        f"part = Part('child', (sys.executable, '-c', {child!r}))\n"
        "Supervisor((part,), environment={}, say=print, on_ready=lambda: None).run()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as parent:
        until(lambda: log.exists() and log.read_text().endswith(" "), "the child's start")
        parent.kill()
    pid = int(log.read_text())
    until(lambda: not alive(pid), "the end of the child")
