"""The worker's own port: whether its loop turns, and its metrics, looked at now and then so that no scrape waits for the database."""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from prometheus_client.core import Metric
from sqlalchemy.exc import SQLAlchemyError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from collector.metrics import Exposition, Work, of_calls, of_database, of_work
from collector.receive.http_server import HttpServer
from collector.work.measuring import Measuring

# As often as rules are evaluated.
LOOK_EVERY_S = 15.0
# A turn takes a second or two; one that waits for a busy database is tried again within half a minute.
STUCK_S = 120.0
# Nobody waits longer for a scrape.
GRACE_S = 2

log = logging.getLogger(__name__)


class Serving:
    """Answers `/healthz` and `/metrics` in threads of its own. `work` says what the worker has done so far."""

    def __init__(self, measuring: Measuring, work: Callable[[], Work], clock: Callable[[], int]) -> None:
        self._measuring = measuring
        self._work = work
        self._clock = clock
        self._found: Sequence[Metric] = ()
        self._trouble = ""
        self._stop = threading.Event()
        self._looking = threading.Thread(target=self._run, name="measure")
        self._exposition = Exposition(self._families)
        self.app = Starlette(
            routes=[
                Route("/healthz", self._healthz, methods=["GET"]),
                Route("/metrics", self._metrics, methods=["GET"]),
            ]
        )
        self._http = HttpServer(self.app, lambda: None, GRACE_S)

    def start(self, host: str, port: int) -> int:
        """Serve on this address only; 0 takes any free port. Gives the port. Raises OSError if it cannot be had."""
        bound = self._http.start(host, port)
        self._looking.start()
        return bound

    def stop(self) -> None:
        """End both threads."""
        self._stop.set()
        self._http.stop()
        if self._looking.ident is not None:
            self._looking.join()

    def look(self) -> None:
        """Look at the database once. If it does not answer, what was found before stays."""
        try:
            measured = self._measuring.look(self._clock())
        except SQLAlchemyError as error:
            trouble = type(error).__name__
            if trouble != self._trouble:
                log.warning("metrics stay as they are, the database does not answer: %s", trouble)
            self._trouble = trouble
            return
        self._trouble = ""
        # Made here and replaced whole: a scrape never sees half of it.
        self._found = (*of_calls(self._measuring.totals), *of_database(measured))

    def _run(self) -> None:
        while not self._stop.is_set():
            self.look()
            self._stop.wait(LOOK_EVERY_S)

    def _families(self) -> Iterable[Metric]:
        yield from self._found
        yield from of_work(self._work())

    def _healthz(self, _: Request) -> Response:
        turned_s = round(self._work().turned_s_ago, 1)
        if turned_s > STUCK_S:
            return JSONResponse({"status": f"the loop has not turned for {turned_s:.0f} s", "turned_s_ago": turned_s}, 503)
        return JSONResponse({"status": "ok", "turned_s_ago": turned_s})

    def _metrics(self, request: Request) -> Response:
        body, content_type = self._exposition.answer(request.headers.get("accept", ""))
        return Response(body, headers={"content-type": content_type})
