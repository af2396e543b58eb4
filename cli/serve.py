"""`toolvitals collect`, `work`, `dashboard`: one process each, for running the three apart."""

import signal
import sys
import time

import typer

from cli import options
from cli.logs import start_logging
from cli.opening import opened
from cli.options import load_settings
from cli.orphan import stop_with_parent

# The parts are imported where they run: a collector has no use for the memory of plotly, nor a dashboard for that of scipy.


def collect(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    otlp_http_port: options.OtlpHttpPort = None,
    otlp_grpc_port: options.OtlpGrpcPort = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run the collector alone: it receives spans and stores them.

    Example: toolvitals collect --database-url postgresql://toolvitals@db/toolvitals --host 0.0.0.0
    """
    from collector.app import run_collector

    settings = load_settings(
        config,
        data=data,
        database_url=database_url,
        host=host,
        otlp_http_port=otlp_http_port,
        otlp_grpc_port=otlp_grpc_port,
        log_level=log_level,
    )
    start_logging(settings, "collector")
    with opened(settings) as engine:
        stop_with_parent()
        run_collector(settings, engine)


def work(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    worker_port: options.WorkerPort = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run the worker alone: it turns stored spans into calls, retry chains and rollups.

    Example: toolvitals work --data /var/lib/toolvitals
    """
    from cli.rules import book_of, channels_of
    from collector.work.loop import run_worker

    settings = load_settings(config, data=data, database_url=database_url, host=host, worker_port=worker_port, log_level=log_level)
    start_logging(settings, "worker")
    book, channels = book_of(settings.rules), channels_of(settings.rules)
    with opened(settings) as engine:
        stop_with_parent()
        run_worker(settings, engine, book, channels, settings.site)


def dashboard(
    config: options.Config = None,
    data: options.Data = None,
    database_url: options.DatabaseUrl = None,
    host: options.Host = None,
    port: options.Port = None,
    log_level: options.LogLevel = None,
) -> None:
    """Run the dashboard alone: the pages and the JSON API.

    Example: toolvitals dashboard --data /var/lib/toolvitals --port 8080
    """
    import uvicorn

    from cli.demo.starting import offered_fleet
    from dashboard.app import create_app, keep_loaded

    settings = load_settings(config, data=data, database_url=database_url, host=host, port=port, log_level=log_level)
    start_logging(settings, "dashboard")
    with opened(settings) as engine:
        stop_with_parent()
        # Once uvicorn has stopped, it sends itself the signal again: that ends the program as usual, with its connections closed.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        application = create_app(engine, settings, time.time_ns, offered_fleet(settings))
        keep_loaded()
        uvicorn.run(
            application,
            host=settings.host,
            port=settings.port,
            access_log=False,
            log_config=None,
            server_header=False,
            # Browsers hold connections open; a stop does not wait for them to look away.
            timeout_graceful_shutdown=3,
        )


def register(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command()(collect)
    app.command()(work)
    app.command()(dashboard)
