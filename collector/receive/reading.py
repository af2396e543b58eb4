"""From the plain bytes of one request to what it holds, or the failure that says why not."""

import traceback
from enum import Enum

from collector.core import otlp_json, wire
from collector.core.decode import Decoder
from collector.receive.failures import Fault, Unreadable
from schemas.spans import Decoded


class Form(Enum):
    """How a message is written; the value is its content type."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


class Reader:
    """Reads requests in the thread that asks."""

    def __init__(self, decoder: Decoder) -> None:
        self._decoder = decoder

    def read(self, body: bytes, form: Form, received_ns: int) -> Decoded:
        """What the request holds, with the spans that its JSON refused. Raises Unreadable or Fault."""
        try:
            if form is Form.PROTOBUF:
                return self._decoder.decode(wire.parse(body), received_ns)
            parsed = otlp_json.parse(body)
            decoded = self._decoder.decode(parsed.request, received_ns)
        except wire.Undecodable as error:
            raise Unreadable(str(error), reason=f"body is not an OTLP request ({form.value})") from None
        except Exception as error:
            raise fault(error) from None
        refused = sum(refusal.count for refusal in parsed.refusals)
        return Decoded(
            decoded.received + refused,
            decoded.tool_spans,
            decoded.ancestors,
            parsed.refusals + decoded.refusals,
            decoded.intake,
        )

    def close(self) -> None:
        """Nothing to end."""


def fault(error: Exception) -> Fault:
    """A mistake of this program as a failure. It keeps the kind and the place, not the text: that may quote the body."""
    frames = traceback.extract_tb(error.__traceback__)
    place = " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in reversed(frames[-4:]))
    kind = type(error).__name__
    return Fault(
        f"toolvitals made a mistake with this request ({kind}); nothing of it is stored, and sending it again will not help",
        reason=f"mistake in toolvitals ({kind})",
        place=place,
    )
