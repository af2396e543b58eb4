"""One process that speaks as several services: each thread or task sends its spans under the name it acts for."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

# Who is speaking. A new thread speaks for nobody until it says so; tasks and worker threads inherit it.
_ACTING_AS: ContextVar[str] = ContextVar("acting_as", default="demo")

# Spans leave at least this often: a demo is watched live.
EXPORT_EVERY_MS = 1000


@contextmanager
def acting_as(service: str) -> Iterator[None]:
    """Send the spans of this block, and of the tasks it starts, as those of a service."""
    token = _ACTING_AS.set(service)
    try:
        yield
    finally:
        _ACTING_AS.reset(token)


def http_exporter(endpoint: str) -> SpanExporter:
    """The usual exporter, with the ingest token if the environment has one."""
    token = os.environ.get("TOOLVITALS_INGEST_TOKEN")
    return OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces", headers={"x-api-key": token} if token else None)


class Services(trace.TracerProvider):
    """A tracer provider with a real one behind it for each service."""

    def __init__(self, exporter_of: "dict[str, SpanExporter]", environment: str = "demo") -> None:
        self._providers = {service: _provider(service, environment, exporter) for service, exporter in exporter_of.items()}
        self._nobody = trace.NoOpTracerProvider()

    def get_tracer(self, *args: Any, **options: Any) -> trace.Tracer:
        """A tracer that asks at each span who is speaking: libraries take theirs once, when they are imported."""
        return _Speaker(
            {service: provider.get_tracer(*args, **options) for service, provider in self._providers.items()},
            self._nobody.get_tracer(*args, **options),
        )

    def shutdown(self) -> None:
        """Send what is left, then stop."""
        for provider in self._providers.values():
            provider.shutdown()


class _Speaker(trace.Tracer):
    def __init__(self, tracers: dict[str, trace.Tracer], nobody: trace.Tracer) -> None:
        self._tracers = tracers
        self._nobody = nobody

    def _current(self) -> trace.Tracer:
        return self._tracers.get(_ACTING_AS.get(), self._nobody)

    def start_span(self, *args: Any, **options: Any) -> trace.Span:
        return self._current().start_span(*args, **options)

    def start_as_current_span(self, *args: Any, **options: Any) -> Any:
        span: AbstractContextManager[trace.Span] = self._current().start_as_current_span(*args, **options)
        return span


def _provider(service: str, environment: str, exporter: SpanExporter) -> TracerProvider:
    # Stopped by hand, in order: at exit the receiver may already be gone.
    provider = TracerProvider(
        resource=Resource.create({"service.name": service, "deployment.environment.name": environment}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=EXPORT_EVERY_MS))
    return provider
