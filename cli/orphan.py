"""A child process must not outlive `toolvitals up`: the end of its standard input tells it that its parent is gone."""

import os
import signal
import threading
import time

SUPERVISED_VARIABLE = "TOOLVITALS_SUPERVISED"
GRACE_S = 20.0


def stop_with_parent() -> None:
    """If this process is supervised: stop in order once the parent is gone, and at once if that takes too long."""
    if os.environ.get(SUPERVISED_VARIABLE):
        threading.Thread(target=_watch, name="parent-watch", daemon=True).start()


def _watch() -> None:
    # The parent holds the other end and never writes: a read returns only when the parent has ended, however it ended.
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_S)
    os._exit(1)
