"""`toolvitals check`: is everything in place, and if not, what to do."""

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import typer
from rich.console import Console

import cli
from cli import options
from cli.opening import first_line, unwritable
from cli.options import load_settings
from cli.ports import PORTS, option, url, why_not
from cli.up import where
from schemas.settings import CONFIG_VARIABLE, Settings

LEAST_FREE_BYTES = 2**30
OURS = {CONFIG_VARIABLE, "TOOLVITALS_SUPERVISED"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `remedy` is empty if it is as it should be."""

    what: str
    seen: str
    remedy: str = ""


def check(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    otlp_http_port: options.OtlpHttpPort = None,
    otlp_grpc_port: options.OtlpGrpcPort = None,
    port: options.Port = None,
    worker_port: options.WorkerPort = None,
) -> None:
    """Look at settings, database, ports, disk and clock; exit code 1 if something is wrong.

    Example: toolvitals check --data ./data
    """
    settings = load_settings(
        config,
        data=data,
        database_url=database_url,
        host=host,
        otlp_http_port=otlp_http_port,
        otlp_grpc_port=otlp_grpc_port,
        port=port,
        worker_port=worker_port,
    )
    console = Console(highlight=False, soft_wrap=True)
    wrong = 0
    for finding in findings(settings, time.time()):
        wrong += bool(finding.remedy)
        mark = "[red]wrong[/red]" if finding.remedy else "[green]ok[/green]   "
        console.print(mark, end=" ")
        console.print(f"{finding.what}: {finding.seen}", markup=False)
        if finding.remedy:
            console.print(f"      {finding.remedy}", markup=False)
    if wrong:
        raise typer.Exit(1)


def findings(settings: Settings, now_s: float) -> Iterator[Finding]:
    """Everything that is looked at, in the order in which one would repair it."""
    # Opening the database may touch its file, which tells of the clock.
    clock = _clock(settings, now_s)
    yield _settings()
    if settings.database_url is None:
        yield from _folder(settings.data)
    yield _database(settings)
    for name, purpose in PORTS:
        yield _port(settings, name, purpose)
    yield clock


def _settings() -> Finding:
    file = Path(os.environ.get(CONFIG_VARIABLE, "toolvitals.toml"))
    known = OURS | {f"TOOLVITALS_{name.upper()}" for name in Settings.model_fields}
    strange = sorted(name for name in os.environ if name.startswith("TOOLVITALS_") and name not in known)
    if strange:
        return Finding("settings", f"no setting is named {', '.join(strange)}", "correct or unset these variables; see README.md")
    return Finding("settings", f"valid, {f'from {file}' if file.is_file() else 'no file'}")


def _folder(folder: Path) -> Iterator[Finding]:
    if reason := unwritable(folder):
        yield Finding("data folder", reason, "choose another with --data, or give this user the right to write there")
        return
    yield Finding("data folder", f"{folder.resolve()} is writable")
    existing = folder.resolve()
    while not existing.exists():
        existing = existing.parent
    free = shutil.disk_usage(existing).free
    room = f"{free / 2**30:.1f} GiB free"
    if free < LEAST_FREE_BYTES:
        yield Finding("disk", room, "free some space")
    else:
        yield Finding("disk", room)


def _database(settings: Settings) -> Finding:
    from sqlalchemy.exc import SQLAlchemyError

    from schemas.database import newest_schema, open_database, schema_of

    shown = where(settings)
    if settings.database_url is None and not (settings.data / "toolvitals.db").exists():
        return Finding("database", f"{shown} is not there yet; the first start makes it")
    try:
        engine = open_database(settings.sqlalchemy_url, busy_timeout_s=2.0)
        try:
            has = schema_of(engine)
        finally:
            engine.dispose()
    except (SQLAlchemyError, OSError) as error:
        return Finding("database", f"{shown}: {first_line(error)}", "start the database, or correct --database-url or --data")
    if has is None:
        return Finding("database", f"{shown} is empty; the first start makes the tables")
    if has == newest_schema():
        return Finding("database", f"{shown}, schema {has}")
    if has > newest_schema():
        remedy = "install the newer version of toolvitals that wrote it"
        return Finding("database", f"{shown} has schema {has}, this program knows {newest_schema()}", remedy)
    return Finding("database", f"{shown}, schema {has}; the next start brings it to {newest_schema()}")


def _port(settings: Settings, name: str, purpose: str) -> Finding:
    number = getattr(settings, name)
    reason = why_not(settings.host, number)
    if reason is None:
        return Finding(f"port {number}", f"free, for {purpose}")
    if _is_ours(settings, name):
        return Finding(f"port {number}", f"toolvitals is running there ({purpose})")
    return Finding(f"port {number}", f"{reason}, wanted for {purpose}", f"stop what holds it, or choose another with {option(name)}")


def _is_ours(settings: Settings, name: str) -> bool:
    number = getattr(settings, name)
    if name == "otlp_grpc_port":
        return _speaks_grpc(url(settings.host, number, "ipv4").removeprefix("ipv4://"))
    try:
        answer = httpx.get(url(settings.host, number) + "/healthz", timeout=2.0, trust_env=False)
    except httpx.HTTPError:
        return False
    return answer.is_success


def _speaks_grpc(target: str) -> bool:
    import grpc
    from grpc_health.v1 import health_pb2, health_pb2_grpc

    with grpc.insecure_channel(target) as channel:
        try:
            health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=2.0)
        except grpc.RpcError:
            return False
    return True


def _clock(settings: Settings, now_s: float) -> Finding:
    # Whatever was written before now cannot be from the future.
    written = [Path(cli.__file__), settings.data / "toolvitals.db"]
    latest = max(file.stat().st_mtime for file in written if file.exists())
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now_s))
    if latest > now_s + settings.clock_skew_s:
        return Finding("clock", f"{shown} is earlier than files written before", "set the clock of this machine (NTP)")
    return Finding("clock", shown)


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(check)
