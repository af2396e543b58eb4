"""How many bytes of requests are in work: beyond the bound, exporters are asked to send again later."""

import threading
from types import TracebackType

from collector.receive.failures import Overloaded


class Room:
    """Bytes that requests hold from their first byte to their answer, over both protocols and all threads."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._held = 0
        self._lock = threading.Lock()

    @property
    def held(self) -> int:
        """Bytes held now."""
        return self._held

    def enter(self) -> "Place":
        """A place for one request: a context manager, empty at first."""
        return Place(self)

    def change(self, by: int) -> None:
        """Hold so many bytes more (or less). Raises Overloaded if there is no room."""
        with self._lock:
            if by > 0 and self._held + by > self.capacity:
                raise Overloaded("too much is waiting to be stored; nothing of this request is stored: send it again later")
            self._held += by


class Place:
    """What one request holds; given back when the `with` block ends."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self._held = 0

    def grow(self, by: int) -> None:
        """Hold more. Raises Overloaded."""
        self._room.change(by)
        self._held += by

    def shrink(self, by: int) -> None:
        """Hold less."""
        self._room.change(-by)
        self._held -= by

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.shrink(self._held)
