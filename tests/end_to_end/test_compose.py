"""The services of docker-compose.yml do their work together: their very commands, environment and health checks, without containers."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from sqlalchemy import make_url

from tests.composition import DATABASE, OURS, composition, image_environment
from tests.end_to_end.conftest import SETTLE_WITHIN_S, START_WITHIN_S, STOP_WITHIN_S, until
from tests.end_to_end.load import export_all, request
from tests.ports import reserved_ports
from tests.postgres import Cluster, programs, running

pytestmark = pytest.mark.end_to_end

# No URL could hold it as it is.
PASSWORD = "p@ss:w/rd?#%"
SERVICES = composition({"POSTGRES_PASSWORD": PASSWORD})["services"]
PORTS = {
    "TOOLVITALS_OTLP_GRPC_PORT": "4317",
    "TOOLVITALS_OTLP_HTTP_PORT": "4318",
    "TOOLVITALS_PORT": "4320",
    "TOOLVITALS_WORKER_PORT": "4321",
}
CHECK_WITHIN_S = 120.0


@dataclass(frozen=True, slots=True)
class Deployment:
    """The services outside of containers: what differs there is the database's address, the bound address, ports and folders."""

    cluster: Cluster
    folder: Path
    ports: Mapping[str, str]

    def environment(self, name: str) -> dict[str, str]:
        """The variables of one of our services, as its container has them but for what differs."""
        said = {**image_environment(), **{key: value for key, value in SERVICES[name]["environment"].items() if value is not None}}
        assert said["TOOLVITALS_HOST"] == "0.0.0.0"
        url = make_url(said["TOOLVITALS_DATABASE_URL"])
        assert url.host == DATABASE
        own = {
            "TOOLVITALS_DATABASE_URL": url.set(host=None, query={"host": str(self.cluster.folder)}).render_as_string(),
            "TOOLVITALS_HOST": "127.0.0.1",
            "TOOLVITALS_DATA": str(self.folder),
            **self.ports,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }
        ambient = {key: value for key, value in os.environ.items() if not key.startswith(("TOOLVITALS_", "OTEL_", "PG"))}
        return {**ambient, **said, **own}

    def url(self, variable: str) -> str:
        """Where a port is reached."""
        return f"http://127.0.0.1:{self.ports[variable]}"

    def healthy(self, name: str) -> bool:
        """Run the health check of a service."""
        kind, *words = SERVICES[name]["healthcheck"]["test"]
        assert kind == "CMD"
        if name == DATABASE:
            found = programs()
            assert found is not None
            # Servers' programs may be linked to from elsewhere, their clients' with another name.
            words = [
                str((found / "initdb").resolve().with_name(words[0])),
                *(word.replace("127.0.0.1", str(self.cluster.folder)) for word in words[1:]),
            ]
            environment = dict(os.environ)
        else:
            for variable, port in PORTS.items():
                words = [word.replace(f":{port}/", f":{self.ports[variable]}/") for word in words]
            environment = self.environment(name)
        asked = subprocess.run(words, env=environment, cwd=self.folder, capture_output=True, timeout=CHECK_WITHIN_S, check=False)
        return asked.returncode == 0

    def one(self, query: str) -> int:
        """A number that the database holds, read as its superuser."""
        with psycopg.connect(self.cluster.url(SERVICES[DATABASE]["environment"]["POSTGRES_DB"])) as connection:
            found = connection.execute(query.encode()).fetchone()
        assert found is not None
        return int(found[0])

    @contextmanager
    def started(self) -> Iterator[dict[str, subprocess.Popen[bytes]]]:
        """Start our services at once, as an image's entrypoint does; nothing of them outlives the block."""
        processes: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name in OURS:
                with self.log(name).open("wb") as sink:
                    processes[name] = subprocess.Popen(
                        ["toolvitals", *SERVICES[name]["command"]],
                        env=self.environment(name),
                        cwd=self.folder,
                        stdin=subprocess.DEVNULL,
                        stdout=sink,
                        stderr=sink,
                    )
            yield processes
        finally:
            for process in processes.values():
                if process.poll() is None:
                    process.kill()
                process.wait()

    def log(self, name: str) -> Path:
        """What a service says."""
        return self.folder / f"{name}.log"

    def logs(self) -> str:
        """What all services said."""
        return "\n".join(f"{name}: {self.log(name).read_text()}" for name in OURS)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    """An empty database as the official image makes it, which asks its user for a password; a cluster of its own, for that reason."""
    made = SERVICES[DATABASE]["environment"]
    user, name = made["POSTGRES_USER"], made["POSTGRES_DB"]
    with running() as cluster, reserved_ports(len(PORTS)) as ports:
        access = cluster.folder / "data" / "pg_hba.conf"
        access.write_text(f"local all {user} scram-sha-256\n{access.read_text()}")
        cluster.run("SELECT pg_reload_conf()")
        cluster.run(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{made['POSTGRES_PASSWORD']}'")
        cluster.run(f"CREATE DATABASE {name} OWNER {user}")
        yield Deployment(cluster, tmp_path, dict(zip(PORTS, map(str, ports), strict=True)))


def test_services_work_together_on_an_empty_database_and_stop_in_order(deployment: Deployment) -> None:
    assert deployment.healthy(DATABASE)
    assert not any(deployment.healthy(name) for name in OURS)
    with deployment.started() as processes:

        def all_healthy() -> bool:
            assert [name for name in OURS if processes[name].poll() is not None] == [], deployment.logs()
            return all(deployment.healthy(name) for name in OURS)

        until(all_healthy, deployment.logs, START_WITHIN_S)

        export_all(deployment.url("TOOLVITALS_OTLP_HTTP_PORT"), 1, [[request(0, 0, 1)]])

        def calls() -> list[dict[str, Any]]:
            answer = httpx.get(f"{deployment.url('TOOLVITALS_PORT')}/api/v1/calls?tool=look_up", timeout=60, trust_env=False)
            found: list[dict[str, Any]] = answer.raise_for_status().json()["calls"]
            return found

        [call] = until(calls, deployment.logs, SETTLE_WITHIN_S)
        assert (call["server"], call["tool"], call["outcome"]) == ("server-0", "look_up", "success")

        for process in processes.values():
            process.send_signal(signal.SIGTERM)
        ended = {name: process.wait(STOP_WITHIN_S) for name, process in processes.items()}
    assert ended == {"collector": 0, "worker": 0, "dashboard": 0}, deployment.logs()
    assert "Traceback" not in deployment.logs()
    assert deployment.one("SELECT COUNT(*) FROM call") == 1
    assert deployment.one("SELECT COUNT(*) FROM pending_trace") == 0
    assert not any(deployment.healthy(name) for name in OURS)
