"""From protobuf bytes to an OTLP request, even if a string in it is not UTF-8; and the attributes of a span as bytes."""

from functools import cache
from typing import Any

from google.protobuf import descriptor_pb2, message_factory
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

# The first bytes of a span's fields: kind is a varint, the two times have eight bytes, the others say how long they are.
_KIND, _TIMES, _ATTRIBUTES = 0x30, (0x39, 0x41), 0x4A

REQUEST = "opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest"


class Undecodable(ValueError):
    """The bytes are not an OTLP request; the text says what is wrong and where. Sending them again does not help."""


def parse(body: bytes) -> ExportTraceServiceRequest:
    """The request in these bytes, invalid UTF-8 replaced by U+FFFD. Raises Undecodable."""
    try:
        return ExportTraceServiceRequest.FromString(body)
    except DecodeError:
        return _repaired(body)


def attributes_in(span: bytes) -> list[bytes]:
    """The attributes of a span (an opentelemetry.proto.trace.v1.Span as this program serialises it), each as a serialised KeyValue.

    Emitters send the same few attributes with every span: bytes that were met before need no parsing.
    """
    found: list[bytes] = []
    at, end = 0, len(span)
    # Fields stand in the order of their numbers, so what follows the attributes (field 9) is of no interest.
    while at < end and (tag := span[at]) <= _ATTRIBUTES:
        if tag in _TIMES:
            at += 9
            continue
        size = span[at + 1]  # of kind, a varint as well, it is the value
        at += 2
        shift = 7
        while size >> shift:  # the highest bit of a byte says that another follows
            size += (span[at] - 1) << shift
            at += 1
            shift += 7
        if tag == _ATTRIBUTES:
            found.append(span[at : at + size])
        if tag != _KIND:
            at += size
    return found


def _repaired(body: bytes) -> ExportTraceServiceRequest:
    # Go and C++ exporters send strings as they are; the strict parser refuses the whole batch for one bad byte.
    try:
        twin = _twin().FromString(body)
    except DecodeError as error:
        raise Undecodable(
            "the body is not an OTLP ExportTraceServiceRequest in protobuf: check that Content-Type and Content-Encoding "
            "say what is sent, and that nothing cut the body"
        ) from error
    _mend(twin, ExportTraceServiceRequest.DESCRIPTOR)
    return ExportTraceServiceRequest.FromString(twin.SerializeToString())


@cache
def _twin() -> Any:
    """The request type once more, with bytes where the original has strings: it takes whatever was sent."""
    pool = DescriptorPool()
    for module in (common_pb2, resource_pb2, trace_pb2, trace_service_pb2):  # in the order of their imports
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            _strings_to_bytes(message)
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(REQUEST))


def _strings_to_bytes(message: descriptor_pb2.DescriptorProto) -> None:
    for field in message.field:
        if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
    for nested in message.nested_type:
        _strings_to_bytes(nested)


def _mend(twin: Message, original: Any) -> None:
    """Make every field that is a string in `original` valid UTF-8. The parser has bounded the depth (100)."""
    for field, value in twin.ListFields():
        was = original.fields_by_name[field.name]
        repeated = field.is_repeated
        if was.type == was.TYPE_MESSAGE:
            for one in value if repeated else (value,):
                _mend(one, was.message_type)
        elif was.type == was.TYPE_STRING and repeated:
            value[:] = [_utf8(one) for one in value]
        elif was.type == was.TYPE_STRING:
            setattr(twin, field.name, _utf8(value))


def _utf8(value: bytes) -> bytes:
    return value.decode("utf-8", "replace").encode()
