"""The one table of failures: error -> gRPC code -> HTTP status, and whether the exporter should send again.

    Failure                    what is wrong, where, and what to do; never anything from the body
    ├── Unreadable             it is not what it says it is, or not OTLP
    ├── Unauthenticated        no token, or a wrong one
    ├── UnsupportedMedia       a content type or coding that is not read here
    ├── TooLarge               over the limit, as sent or as inflated
    ├── Unstorable             the database refuses this request's data, and would again
    ├── Fault                  a mistake in this program: the same bytes would meet it again
    └── Healing                sending again later helps; nothing of the request is stored
        ├── Overloaded         too many bytes of requests are in work
        ├── TooSlow            the body did not arrive in time
        ├── StorageFailed      the database is busy, locked, full or away
        └── ShuttingDown       this collector is stopping

How we fail decides whether users lose data: exporters send again after 429, 502, 503 and 504, and after UNAVAILABLE; after
anything else they drop the batch. So what heals is never answered with 500, and what does not heal never with 503.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status


class Failure(Exception):
    """A request that is not answered with success. `reason` is one of few, for the table of refusals; the text says it all."""

    def __init__(self, text: str, *, reason: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.reason = reason or text


class Unreadable(Failure):
    """It is not what it says it is, or not OTLP."""


class Unauthenticated(Failure):
    """No token, or a wrong one."""


class UnsupportedMedia(Failure):
    """A content type or coding that is not read here."""


class TooLarge(Failure):
    """Over the limit, as sent or as inflated."""


class Unstorable(Failure):
    """The database refuses this request's data, and would again."""


class Fault(Failure):
    """A mistake in this program: the same bytes would meet it again. `place` says where, for the log."""

    def __init__(self, text: str, *, reason: str = "", place: str = "") -> None:
        super().__init__(text, reason=reason)
        self.place = place


class Healing(Failure):
    """Sending again later helps; nothing of the request is stored."""


class Overloaded(Healing):
    """Too many bytes of requests are in work."""


class TooSlow(Healing):
    """The body did not arrive in time."""


class StorageFailed(Healing):
    """The database is busy, locked, full or away."""


class ShuttingDown(Healing):
    """This collector is stopping."""


@dataclass(frozen=True, slots=True)
class Answer:
    """How a failure is told in each protocol. `retry_after_s` is None where sending again does not help."""

    grpc_code: grpc.StatusCode
    http_status: int
    retry_after_s: int | None = None


# Backpressure over gRPC is UNAVAILABLE, as OTLP demands; RESOURCE_EXHAUSTED tells some exporters not to send again.
# Short waits: the exporters' own patience is ten seconds in all.
TABLE: Mapping[type[Failure], Answer] = MappingProxyType(
    {
        Unreadable: Answer(grpc.StatusCode.INVALID_ARGUMENT, 400),
        Unauthenticated: Answer(grpc.StatusCode.UNAUTHENTICATED, 401),
        UnsupportedMedia: Answer(grpc.StatusCode.INVALID_ARGUMENT, 415),
        TooLarge: Answer(grpc.StatusCode.RESOURCE_EXHAUSTED, 413),
        Unstorable: Answer(grpc.StatusCode.INTERNAL, 500),
        Fault: Answer(grpc.StatusCode.INTERNAL, 500),
        Overloaded: Answer(grpc.StatusCode.UNAVAILABLE, 429, retry_after_s=1),
        TooSlow: Answer(grpc.StatusCode.UNAVAILABLE, 503, retry_after_s=1),
        StorageFailed: Answer(grpc.StatusCode.UNAVAILABLE, 503, retry_after_s=2),
        ShuttingDown: Answer(grpc.StatusCode.UNAVAILABLE, 503, retry_after_s=2),
    }
)


def answer_to(failure: Failure) -> Answer:
    """The table's line for this failure."""
    return TABLE[type(failure)]


def retry_info(answer: Answer) -> RetryInfo | None:
    """When to send again, as gRPC exporters read it."""
    return None if answer.retry_after_s is None else RetryInfo(retry_delay=Duration(seconds=answer.retry_after_s))


def status_of(failure: Failure) -> Status:
    """The failure as google.rpc.Status, which is the body of every error in both protocols."""
    answer = answer_to(failure)
    status = Status(code=answer.grpc_code.value[0], message=failure.text)
    info = retry_info(answer)
    if info is not None:
        detail = AnyMessage()
        detail.Pack(info)
        status.details.append(detail)
    return status
