"""A request that is serialised once; before each sending only ids, sessions and times are written anew, in place."""

import os
import struct
from dataclasses import dataclass, field

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass
class Template:
    """One serialised request, and where its ids and times are."""

    body: bytearray
    ids: list[tuple[int, int, int]] = field(default_factory=list)  # offset, length, which id
    texts: list[tuple[int, int]] = field(default_factory=list)  # offset of 32 hex digits, which id
    times: list[tuple[int, int]] = field(default_factory=list)  # offset, nanoseconds before now
    id_count: int = 0

    def fresh(self, now_ns: int) -> bytes:
        """The request with new ids, as if its spans had just ended."""
        noise = os.urandom(16 * self.id_count)
        body = bytearray(self.body)
        for offset, length, which in self.ids:
            body[offset : offset + length] = noise[16 * which : 16 * which + length]
        for offset, which in self.texts:
            body[offset : offset + 32] = noise[16 * which : 16 * which + 16].hex().encode()
        for offset, before in self.times:
            struct.pack_into("<Q", body, offset, now_ns - before)
        return bytes(body)


def finished(request: ExportTraceServiceRequest, marks: list[bytes], times: set[int]) -> Template:
    """The template of a request. `marks` stand for ids in it, as they are or as 32 hex digits; times stand as 2^62 + before."""
    made = Template(bytearray(request.SerializeToString()), id_count=len(marks))
    for which, mark in enumerate(marks):
        made.ids += [(offset, len(mark), which) for offset in _offsets(made.body, mark)]
        if len(mark) == 16:
            made.texts += [(offset, which) for offset in _offsets(made.body, mark.hex().encode())]
    for before in times:
        made.times += [(offset, before) for offset in _offsets(made.body, struct.pack("<Q", 2**62 + before))]
    spans = [one for resource in request.resource_spans for scope in resource.scope_spans for one in scope.spans]
    assert len(made.times) == 2 * len(spans)
    return made


def _offsets(body: bytearray, mark: bytes) -> list[int]:
    found, start = [], body.find(mark)
    while start >= 0:
        found.append(start)
        start = body.find(mark, start + 1)
    return found
