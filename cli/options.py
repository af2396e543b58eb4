"""The options that commands share, and how they become settings: the command line over the environment over a file."""

import json
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import SecretStr, ValidationError

from schemas.settings import CONFIG_VARIABLE, Settings

Config = Annotated[Path | None, typer.Option("--config", help="TOML file with settings. (default: toolvitals.toml, if there is one)")]
Data = Annotated[Path | None, typer.Option("--data", help="Folder of the embedded SQLite database. (default: data)")]
DatabaseUrl = Annotated[
    str | None, typer.Option("--database-url", help="Database URL instead of the folder, e.g. postgresql://user@host/name.")
]
Host = Annotated[str | None, typer.Option("--host", help="Address that every port binds to. (default: 127.0.0.1)")]
OtlpHttpPort = Annotated[int | None, typer.Option("--otlp-http-port", help="Port of OTLP over HTTP. (default: 4318)")]
OtlpGrpcPort = Annotated[int | None, typer.Option("--otlp-grpc-port", help="Port of OTLP over gRPC. (default: 4317)")]
Port = Annotated[int | None, typer.Option("--port", help="Port of the dashboard. (default: 4320)")]
WorkerPort = Annotated[int | None, typer.Option("--worker-port", help="Port of the worker's health and metrics. (default: 4321)")]
LogLevel = Annotated[
    str | None, typer.Option("--log-level", help="Least level that is logged: debug, info, warning or error. (default: info)")
]


def fail(problem: str, hint: str = "") -> typer.Exit:
    """Say on standard error what is wrong and what to do; the caller raises what is returned, which ends with exit code 1."""
    typer.secho(f"toolvitals: {problem}", fg=typer.colors.RED, err=True)
    if hint:
        typer.echo(f"  {hint}", err=True)
    return typer.Exit(1)


def load_settings(config: Path | None = None, **given: Any) -> Settings:
    """The settings of this run; an option that was not given is None. Ends the program with a clear message if one is wrong."""
    if config is not None:
        if not config.is_file():
            raise fail(f"--config {config}: no such file")
        os.environ[CONFIG_VARIABLE] = str(config)
    try:
        return Settings(**{name: value for name, value in given.items() if value is not None})
    except ValidationError as error:
        raise fail("a setting is wrong", "\n  ".join(problems(error))) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise fail(f"{os.environ.get(CONFIG_VARIABLE, 'toolvitals.toml')}: not a TOML file: {error}") from None


def problems(error: ValidationError) -> list[str]:
    """One line for each setting that is wrong, without the values of secrets."""
    lines = []
    for one in error.errors():
        name = ".".join(str(part) for part in one["loc"])
        if one["type"] == "extra_forbidden":
            lines.append(f"{name}: there is no such setting")
        elif one["loc"][:1] == ("ingest_token",):
            lines.append(f"{name}: {one['msg']}")
        else:
            lines.append(f"{name}: {one['msg']} (got {one['input']!r})")
    return lines


def environment_of(settings: Settings) -> dict[str, str]:
    """Environment variables from which a child process reads the same settings."""

    variables = {}
    for name in settings.model_fields_set:
        value = getattr(settings, name)
        if value is None:
            continue
        if isinstance(value, SecretStr):
            text = value.get_secret_value()
        elif isinstance(value, (tuple, dict)):
            text = json.dumps(value)
        else:
            text = str(value)
        variables[f"TOOLVITALS_{name.upper()}"] = text
    return variables
