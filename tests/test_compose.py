"""The files for containers fit the Compose specification, the program and its documentation, and open nothing to the network."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from sqlalchemy import make_url

from schemas.settings import Settings
from tests.composition import COMPOSITION, DATABASE, OURS, ROOT, composition, image, image_environment, instructions
from tests.test_documented import COMMANDS, OPERATIONS

FILE = composition({})
SERVICES = FILE["services"]
PORTS = {name: str(Settings.model_fields[name].default) for name in ("otlp_http_port", "otlp_grpc_port", "port")}
WORKER_PORT = str(Settings.model_fields["worker_port"].default)
PUBLISHED = {"collector": {PORTS["otlp_http_port"], PORTS["otlp_grpc_port"]}, "dashboard": {PORTS["port"]}}
DEFAULT_PASSWORD = "change-me"


def follows_the_specification(file: Path) -> subprocess.CompletedProcess[str]:
    """Judge a file by the JSON schema of the Compose specification, which check-jsonschema carries."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_composition_follows_the_specification() -> None:
    judged = follows_the_specification(COMPOSITION)
    assert judged.returncode == 0, judged.stdout + judged.stderr


@pytest.mark.parametrize(("right", "wrong"), [("healthcheck:", "healthchek:"), ("condition: service_healthy", "condition: healthy")])
def test_specification_knows_mistakes(tmp_path: Path, right: str, wrong: str) -> None:
    mistaken = tmp_path / "docker-compose.yml"
    mistaken.write_text(COMPOSITION.read_text().replace(right, wrong))
    assert follows_the_specification(mistaken).returncode == 1


def test_services_are_the_parts_and_their_database() -> None:
    assert set(SERVICES) == {*OURS, DATABASE}
    assert {name: SERVICES[name]["command"][0] for name in OURS} == OURS


@pytest.mark.parametrize("name", OURS)
def test_service_runs_a_command_that_exists(name: str) -> None:
    command, *words = SERVICES[name]["command"]
    known = {option for parameter in COMMANDS[f"toolvitals {command}"].params for option in parameter.opts}
    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known


@pytest.mark.parametrize("name", OURS)
def test_service_names_settings_that_exist(name: str) -> None:
    variables = {**image_environment(), **SERVICES[name]["environment"]}
    ours = {variable.removeprefix("TOOLVITALS_").lower() for variable in variables if variable.startswith("TOOLVITALS_")}
    assert ours <= set(Settings.model_fields)
    assert {variable for variable in variables if not variable.startswith("TOOLVITALS_")} == {"PGPASSWORD", "PYTHONUNBUFFERED"}


@pytest.mark.parametrize("name", OURS)
def test_service_knows_where_the_database_is_and_may_enter(name: str) -> None:
    environment, database = SERVICES[name]["environment"], SERVICES[DATABASE]["environment"]
    url = make_url(environment["TOOLVITALS_DATABASE_URL"])
    assert (url.host, url.port, url.username, url.password) == (DATABASE, None, database["POSTGRES_USER"], None)
    assert url.database == database["POSTGRES_DB"]
    assert environment["PGPASSWORD"] == database["POSTGRES_PASSWORD"] == DEFAULT_PASSWORD


def test_password_comes_from_one_variable() -> None:
    services = composition({"POSTGRES_PASSWORD": "pass:w@rd/?"})["services"]
    assert services[DATABASE]["environment"]["POSTGRES_PASSWORD"] == "pass:w@rd/?"
    assert {services[name]["environment"]["PGPASSWORD"] for name in OURS} == {"pass:w@rd/?"}


@pytest.mark.parametrize("name", OURS)
def test_service_is_built_here_and_waits_for_a_healthy_database(name: str) -> None:
    assert SERVICES[name]["build"] == "."
    assert "image" not in SERVICES[name], "services that build the same name at the same time may fail"
    assert SERVICES[name]["depends_on"] == {DATABASE: {"condition": "service_healthy"}}


@pytest.mark.parametrize("name", SERVICES)
def test_service_publishes_its_own_ports_on_loopback_alone(name: str) -> None:
    published = PUBLISHED.get(name, set())
    assert set(SERVICES[name].get("ports", [])) == {f"127.0.0.1:{port}:{port}" for port in published}
    assert SERVICES[name].get("network_mode") is None


@pytest.mark.parametrize("name", SERVICES)
def test_service_has_no_right_that_it_does_not_need(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert "/tmp" in service["tmpfs"]
    assert (service["cap_drop"], service.get("cap_add")) == (["ALL"], None)
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")
    assert service.get("user") == (DATABASE if name == DATABASE else None), "ours are the image's user"


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_watched_started_again_and_given_time_to_stop(name: str) -> None:
    service = SERVICES[name]
    assert {"test", "interval", "timeout", "start_period"} <= set(service["healthcheck"])
    assert service["restart"] == "unless-stopped"
    assert "stop_grace_period" in service


@pytest.mark.parametrize("name", PUBLISHED)
def test_healthcheck_asks_a_port_of_its_service(name: str) -> None:
    [port] = re.findall(r"http://127\.0\.0\.1:(\d+)/readyz", " ".join(SERVICES[name]["healthcheck"]["test"]))
    assert port in PUBLISHED[name]


def test_healthcheck_of_the_worker_asks_whether_its_loop_turns() -> None:
    assert f"'http://127.0.0.1:{WORKER_PORT}/healthz'" in " ".join(SERVICES["worker"]["healthcheck"]["test"])


def test_database_is_kept_on_a_volume() -> None:
    # The image of PostgreSQL 18 and later has its volume there, and refuses to start with another's.
    assert SERVICES[DATABASE]["image"] == "postgres:18"
    assert SERVICES[DATABASE]["volumes"] == ["postgres:/var/lib/postgresql"]
    assert set(FILE["volumes"]) == {"postgres"}


def test_image_has_all_packages_and_nothing_keeps_them_from_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    copied = {name for word, rest in instructions() if word == "COPY" and "--from" not in rest for name in rest.split()[:-1]}
    assert copied == {*packages, "pyproject.toml", "constraints.txt", project["project"]["readme"], *project["project"]["license-files"]}
    let_in = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == let_in


def test_image_runs_our_program_as_a_user_without_rights() -> None:
    said = {word: rest for word, rest in image() if word in {"USER", "ENTRYPOINT", "CMD", "HEALTHCHECK", "EXPOSE", "WORKDIR"}}
    [made] = [rest for word, rest in image() if word == "RUN" and "useradd" in rest]
    assert re.search(rf"useradd .*--uid 10001 .*\b{said['USER']}\b", made)
    [program] = json.loads(said["ENTRYPOINT"])
    assert program in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    [command] = json.loads(said["CMD"])
    assert f"{program} {command}" in COMMANDS
    assert set(said["EXPOSE"].split()) == {*PORTS.values(), WORKER_PORT}
    assert f"http://127.0.0.1:{PORTS['port']}/readyz" in said["HEALTHCHECK"]
    assert image_environment()["TOOLVITALS_DATA"] == said["WORKDIR"] == "/data"
    assert image_environment()["TOOLVITALS_HOST"] == "0.0.0.0"


def test_one_container_is_documented_with_its_data_kept_and_its_ports_on_loopback() -> None:
    [command] = re.findall(r"^docker run (.*)$", OPERATIONS.replace("\\\n", ""), re.MULTILINE)
    published = re.findall(r"--publish (\S+)", command)
    assert set(published) == {f"127.0.0.1:{port}:{port}" for port in PORTS.values()}
    assert "--volume toolvitals:/data" in command
    assert all(option in command for option in ("--init", "--read-only", "--cap-drop ALL", "--security-opt no-new-privileges:true"))


def test_default_password_is_documented_as_one_to_change() -> None:
    assert "`POSTGRES_PASSWORD`" in OPERATIONS
    assert f"`{DEFAULT_PASSWORD}`" in OPERATIONS
