"""`toolvitals demo`: see it at work without an agent of your own."""

from importlib.util import find_spec
from typing import Annotated

import typer

from cli import options
from cli.logs import start_logging
from cli.options import fail, load_settings
from cli.orphan import stop_with_parent
from cli.ports import settled, url
from cli.supervise import Part
from cli.up import check_ports, command, run_all


def demo(
    seed: Annotated[int, typer.Option("--seed", help="What goes wrong and when follows from it.")] = 1,
    pace: Annotated[float, typer.Option("--pace", min=0.1, max=20, help="How busy the agents are; 1 is a few calls a second.")] = 1,
    send_to: Annotated[str | None, typer.Option("--send-to", help="Run the fleet alone and send to this OTLP/HTTP endpoint.")] = None,
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    otlp_http_port: options.OtlpHttpPort = None,
    otlp_grpc_port: options.OtlpGrpcPort = None,
    port: options.Port = None,
    worker_port: options.WorkerPort = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run everything with a fleet of real MCP servers and agents that succeed, fail, retry and storm.

    Example: toolvitals demo --data demo-data --seed 7
    """
    if find_spec("fastmcp") is None or find_spec("mcp") is None:
        raise fail("the demo needs the MCP libraries", "pip install 'toolvitals-server[demo]'")
    settings = load_settings(
        config,
        data=data,
        database_url=database_url,
        host=host,
        otlp_http_port=otlp_http_port,
        otlp_grpc_port=otlp_grpc_port,
        port=port,
        worker_port=worker_port,
        log_level=log_level,
    )
    if send_to is not None:
        # Imported here: the MCP libraries take seconds to load.
        from cli.demo.fleet import run_fleet

        start_logging(settings, "demo")
        stop_with_parent()
        run_fleet(send_to, seed, pace)
        return
    check_ports(settings)
    settings = settled(settings)
    endpoint = url(settings.host, settings.otlp_http_port)
    fleet = Part("demo fleet", command("demo", "--send-to", endpoint, "--seed", str(seed), "--pace", str(pace)))
    run_all(settings, more=(fleet,), title="toolvitals demo")


def register(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command()(demo)
