"""A PostgreSQL cluster of the tests' own: made of the installed programs, without a network port, gone when the tests end."""

import glob
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

# CI sets it, so that nothing is left out there unseen.
REQUIRED_VARIABLE = "REQUIRE_POSTGRESQL"
START_WITHIN_S = 60.0
# Copies of a database are made in a tenth of the time where no disk takes part, if there is enough of that (containers: 64 MiB).
IN_MEMORY = Path("/dev/shm")
ENOUGH_BYTES = 4 * 2**30
# Nobody pulls the plug, and nothing outlives the tests.
OPTIONS = {
    "listen_addresses": "",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "shared_buffers": "64MB",
    "max_connections": "100",
    "max_wal_size": "256MB",
    "autovacuum": "off",
    "logging_collector": "off",
    "log_min_messages": "fatal",
}
# For those who measure.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "1GB",
    "max_wal_size": "4GB",
}
# Stops the server, and removes its folder, once its standard input is closed: by us, or by our death, whatever kills us.
GUARD = '"$@" & server=$!; read -r _; kill -INT $server 2>/dev/null; wait $server; rm -rf "$FOLDER"'


class Cluster:
    """A running server, and the superuser's connection to it."""

    def __init__(self, folder: Path, connection: psycopg.Connection[Any]) -> None:
        self.folder = folder
        self._connection = connection
        self._made = 0
        # Twice as fast as the other strategy for small ones; older versions know no other.
        self._strategy = "STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""

    def url(self, name: str, user: str = "postgres") -> str:
        """Where a database is reached, as users write it."""
        return f"postgresql://{user}@/{name}?host={self.folder}"

    def run(self, sql: str) -> None:
        """Run one statement outside of a transaction."""
        self._connection.execute(sql.encode())

    def create(self, template: str = "template0") -> str:
        """Make a database as a copy of another; gives its name."""
        self._made += 1
        name = f"test_{self._made}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template} {self._strategy}")
        return name

    def drop(self, name: str) -> None:
        """Remove a database, whoever is still connected to it."""
        self.run(f"DROP DATABASE {name} WITH (FORCE)")


def programs() -> Path | None:
    """The folder of PostgreSQL's server programs, the newest if there are several."""
    on_path = shutil.which("initdb")
    found = [on_path] if on_path else sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    return Path(found[-1]).parent if found else None


def unprivileged() -> dict[str, Any]:
    """How to start a program of PostgreSQL, which refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {user.pw_name for user in pwd.getpwall()}
    user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


@contextmanager
def running(*, durable: bool = False) -> Iterator[Cluster]:
    """A cluster, stopped and removed in the end. Skips where PostgreSQL is not installed, or fails if it must be there.

    A `durable` one keeps what it has committed, at the price of it.
    """
    found = programs()
    if found is None:
        reason = "PostgreSQL is not installed here (Debian: apt-get install postgresql)"
        (pytest.fail if os.environ.get(REQUIRED_VARIABLE) else pytest.skip)(reason)
    # Not pytest's folder: that is closed to the user that the server runs as. And a socket's path must be short.
    folder = Path(tempfile.mkdtemp(prefix="toolvitals-", dir=None if durable else _in_memory()))
    who = unprivileged()
    if who:
        os.chown(folder, who["user"], who["group"])
    data = folder / "data"
    initdb = [found / "initdb", "--pgdata", data, "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"]
    subprocess.run(initdb, check=True, capture_output=True, cwd=folder, **who)
    options = [
        f"-c{name}={value}" for name, value in {**OPTIONS, **(DURABLE if durable else {}), "unix_socket_directories": folder}.items()
    ]
    command = ["sh", "-c", GUARD, "guard", found / "postgres", "-D", data, *options]
    with (folder / "log").open("wb") as log:
        environment = {**os.environ, "FOLDER": str(folder)}
        # A group of its own: what ends the tests by a signal to their group must not end the one that cleans up.
        guard = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=folder, env=environment, process_group=0, **who
        )
    try:
        with _connected(folder, guard) as connection:
            yield Cluster(folder, connection)
    finally:
        guard.communicate()


def _in_memory() -> Path | None:
    if not os.access(IN_MEMORY, os.W_OK) or shutil.disk_usage(IN_MEMORY).free < ENOUGH_BYTES:
        return None
    return IN_MEMORY


def _connected(folder: Path, guard: "subprocess.Popen[bytes]") -> psycopg.Connection[Any]:
    deadline_s = time.monotonic() + START_WITHIN_S
    while guard.poll() is None and time.monotonic() < deadline_s:
        try:
            return psycopg.connect(host=str(folder), user="postgres", autocommit=True)
        except psycopg.OperationalError:
            time.sleep(0.05)
    raise AssertionError(f"PostgreSQL did not start: {(folder / 'log').read_text()}")
