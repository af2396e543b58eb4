"""OTLP over HTTP: what is asked, in which form and coding, and every answer in the form of its request."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType

import orjson
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from collector.metrics import Exposition, of_collector
from collector.receive.failures import (
    Failure,
    ShuttingDown,
    TooSlow,
    Unauthenticated,
    UnsupportedMedia,
    answer_to,
    status_of,
)
from collector.receive.inflate import ACCEPTED, coding_of, too_large
from collector.receive.ingest import Ingest, Taken
from collector.receive.reading import Form, fault
from collector.receive.room import Place

# Slower than any exporter waits: what is left half sent gives its room back.
BODY_TIMEOUT_S = 60.0
# Enough to inflate while others are read; reading itself has its own bound.
THREADS = 4

FORMS: Mapping[str, Form] = MappingProxyType({form.value: form for form in Form})
FORM_NAMES = " or ".join(FORMS)


class OtlpHttp:
    """The web application. `ready` raises if the database cannot be read; it is called in a thread."""

    def __init__(self, ingest: Ingest, ready: Callable[[], object], cors_origins: tuple[str, ...] = ()) -> None:
        self._ingest = ingest
        self._ready = ready
        self._stopping = False
        self._reading: set[asyncio.Timeout] = set()
        self._exposition = Exposition(lambda: of_collector(ingest.received()))
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="take")
        cors = Middleware(CORSMiddleware, allow_origins=cors_origins, allow_methods=["POST"], allow_headers=["*"])
        self.app = Starlette(
            routes=[
                Route("/v1/traces", self._traces, methods=["POST"]),
                Route("/v1/metrics", self._metrics, methods=["POST"]),
                Route("/v1/logs", self._logs, methods=["POST"]),
                Route("/healthz", self._healthz, methods=["GET"]),
                Route("/readyz", self._readyz, methods=["GET"]),
                Route("/metrics", self._scraped, methods=["GET"]),
            ],
            middleware=[cors] if cors_origins else [],
            exception_handlers={HTTPException: _not_here},
        )
        # A redirected POST is not followed by every exporter; a plain 404 says what the path is.
        self.app.router.redirect_slashes = False

    def stop_reading(self) -> None:
        """Answer ShuttingDown to what is still being read, and be ready no more. Called in the event loop, at shutdown."""
        self._stopping = True
        for timeout in self._reading:
            if not timeout.expired():
                timeout.reschedule(0)

    def close(self) -> None:
        """End the threads, after the last request is answered."""
        self._threads.shutdown()

    async def _traces(self, request: Request) -> Response:
        return await self._export(request, None)

    async def _metrics(self, request: Request) -> Response:
        return await self._export(request, "metrics")

    async def _logs(self, request: Request) -> Response:
        return await self._export(request, "logs")

    async def _export(self, request: Request, ignored: str | None) -> Response:
        form = _form_of(request)
        try:
            return await self._answered(request, form, ignored)
        except ClientDisconnect:
            return Response(status_code=400)  # no one reads it
        except Failure as failure:
            known = failure
        except Exception as error:
            known = fault(error)
        self._ingest.note(known)
        return _failed(known, form)

    async def _answered(self, request: Request, form: Form | None, ignored: str | None) -> Response:
        """One export, from headers to answer: everything that is cheap to refuse comes before the body is read."""
        headers = request.headers
        self._ingest.check_token(headers.get("authorization"), headers.get("x-api-key"))
        if form is None:
            raise UnsupportedMedia(
                f"Content-Type {headers.get('content-type', '')[:80]!r} is not read here: send {FORM_NAMES}",
                reason="Content-Type is not one that is read",
            )
        coding = coding_of(",".join(headers.getlist("content-encoding")))
        with self._ingest.room.enter() as place:
            body = await self._body(request, place)
            if ignored is not None:
                self._ingest.ignore(ignored)
                return _done(form)
            loop = asyncio.get_running_loop()
            taken = await loop.run_in_executor(self._threads, self._ingest.take, body, coding, form, place)
            await asyncio.wrap_future(taken.committed)
        return _done(form, taken)

    async def _body(self, request: Request, place: Place) -> bytes:
        """The body as sent, up to the limit."""
        limit = self._ingest.limit
        if int(request.headers.get("content-length", 0)) > limit:
            raise too_large(limit, "sent")
        pieces: list[bytes] = []
        size = 0
        timeout = asyncio.timeout(0 if self._stopping else BODY_TIMEOUT_S)
        self._reading.add(timeout)
        try:
            async with timeout:
                async for piece in request.stream():
                    size += len(piece)
                    if size > limit:
                        raise too_large(limit, "sent")
                    place.grow(len(piece))
                    pieces.append(piece)
        except TimeoutError:
            if self._stopping:
                raise ShuttingDown("the collector is shutting down; nothing of this request is stored: send it again") from None
            raise TooSlow(f"the body did not arrive within {BODY_TIMEOUT_S:.0f} s: send it again") from None
        finally:
            self._reading.discard(timeout)
        return b"".join(pieces)

    async def _healthz(self, _: Request) -> Response:
        return JSONResponse({"status": "ok", "bytes_in_work": self._ingest.room.held, "ignored_requests": self._ingest.ignored})

    async def _readyz(self, _: Request) -> Response:
        if self._stopping:
            return JSONResponse({"status": "shutting down"}, 503)
        try:
            await asyncio.to_thread(self._ready)
        except Exception as error:
            return JSONResponse({"status": "the database cannot be read", "error": type(error).__name__}, 503)
        return JSONResponse({"status": "ready"})

    async def _scraped(self, request: Request) -> Response:
        # A millisecond, of numbers that are counted anyway: no thread is worth it.
        body, content_type = self._exposition.answer(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": content_type})


def _form_of(request: Request) -> Form | None:
    return FORMS.get(request.headers.get("content-type", "").partition(";")[0].strip().lower())


def _done(form: Form, taken: Taken | None = None) -> Response:
    """Success; partial_success stays unset if nothing was refused, as OTLP demands. Empty, it is the same for all signals."""
    rejected, message = (taken.rejected, taken.message) if taken else (0, "")
    if form is Form.JSON:
        partial = {"partialSuccess": {"rejectedSpans": str(rejected), "errorMessage": message}} if rejected else {}
        return Response(orjson.dumps(partial), media_type=form.value)
    response = ExportTraceServiceResponse()
    if rejected:
        response.partial_success.rejected_spans = rejected
        response.partial_success.error_message = message
    return Response(response.SerializeToString(), media_type=form.value)


def _failed(failure: Failure, form: Form | None) -> Response:
    answer = answer_to(failure)
    headers = {}
    if answer.retry_after_s is not None:
        headers["Retry-After"] = str(answer.retry_after_s)
    if isinstance(failure, Unauthenticated):
        headers["WWW-Authenticate"] = 'Bearer realm="toolvitals"'
    if isinstance(failure, UnsupportedMedia):
        headers["Accept-Encoding"] = ACCEPTED
        headers["Accept"] = ", ".join(FORMS)
    return _status(status_of(failure), answer.http_status, form, headers)


def _status(status: Status, code: int, form: Form | None, headers: Mapping[str, str]) -> Response:
    form = form or Form.JSON
    body = status.SerializeToString() if form is Form.PROTOBUF else orjson.dumps({"code": status.code, "message": status.message})
    return Response(body, code, headers, form.value)


async def _not_here(request: Request, error: Exception) -> Response:
    """Another path or method, in the form of the request too."""
    assert isinstance(error, HTTPException)
    text = "only POST takes spans" if error.status_code == 405 else "no such path: spans go to POST /v1/traces"
    return _status(Status(code=12, message=text), error.status_code, _form_of(request), error.headers or {})
