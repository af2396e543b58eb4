"""Ports of loopback that a test can tell a program to listen on, and that nobody else is given meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """So many free ports, ours until the block ends.

    A port that was free a moment ago may be another's by the time that a program has started: the kernel gives it to the next
    connection that asks for any. One that is bound it gives to nobody, yet who sets SO_REUSEADDR, as servers do, can listen on it.
    """
    with ExitStack() as held:
        ports = []
        for _ in range(count):
            one = held.enter_context(socket.socket())
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
        yield ports
