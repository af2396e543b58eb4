"""Reads requests in processes of their own: decoding holds the interpreter, and one interpreter uses one core."""

import marshal
from dataclasses import astuple
from multiprocessing.connection import Connection
from queue import SimpleQueue

from collector.children import Child
from collector.core.decode import Decoder
from collector.receive.failures import Failure, Fault
from collector.receive.reading import Form, Reader
from schemas.settings import Settings
from schemas.spans import Ancestor, Decoded, Intake, Refusal, ToolSpan


class Readers:
    """So many processes; a caller waits for one that is free. Safe to call from any thread."""

    def __init__(self, settings: Settings, hash_key: bytes, count: int) -> None:
        self._free: SimpleQueue[_Process] = SimpleQueue()
        self._all = [_Process(settings, hash_key) for _ in range(count)]
        for one in self._all:
            self._free.put(one)

    def read(self, body: bytes, form: Form, received_ns: int) -> Decoded:
        """What the request holds (see Reader.read). A process that ends is replaced, and the request tried once more."""
        process = self._free.get()
        try:
            for _ in range(2):
                try:
                    answer = process.ask(body, form, received_ns)
                except (EOFError, OSError):
                    process.restart()
                    continue
                if isinstance(answer, Failure):
                    raise answer
                return answer
        finally:
            self._free.put(process)
        raise Fault(
            "reading this request ended the process that read it, twice; nothing of it is stored",
            reason="a request ended the process that read it",
            place="readers",
        )

    def close(self) -> None:
        """End the processes, after the last request."""
        while self._all:
            self._all.pop().close()


class _Process(Child):
    def __init__(self, settings: Settings, hash_key: bytes) -> None:
        super().__init__("reader", _serve, settings, hash_key)

    def ask(self, body: bytes, form: Form, received_ns: int) -> Decoded | Failure:
        self.connection.send((form, received_ns))
        self.connection.send_bytes(body)
        failure: Failure | None = self.connection.recv()
        return failure if failure is not None else unpacked(self.connection.recv_bytes())


def _serve(connection: Connection, settings: Settings, hash_key: bytes) -> None:
    reader = Reader(Decoder(settings, hash_key))
    while True:
        try:
            form, received_ns = connection.recv()
            body = connection.recv_bytes()
        except EOFError:
            return
        try:
            packed_answer = packed(reader.read(body, form, received_ns))
        except Failure as failure:
            answer: tuple[Failure | None, bytes] = failure, b""
        else:
            answer = None, packed_answer
        try:
            connection.send(answer[0])
            if answer[0] is None:
                connection.send_bytes(answer[1])
        except BrokenPipeError:
            return


def packed(decoded: Decoded) -> bytes:
    """What a request holds as bytes for the other process. Plain tuples by marshal: pickled records cost as much as decoding."""
    records = (decoded.tool_spans, decoded.ancestors, map(astuple, decoded.refusals), map(astuple, decoded.intake))
    return marshal.dumps((decoded.received, *(tuple(map(tuple, one)) for one in records)))


def unpacked(data: bytes) -> Decoded:
    """The reverse of `packed`; both ends are one program, so what arrives is what was sent."""
    received, spans, ancestors, refusals, intake = marshal.loads(data)
    return Decoded(
        received,
        tuple(map(ToolSpan._make, spans)),
        tuple(map(Ancestor._make, ancestors)),
        tuple(Refusal(*one) for one in refusals),
        tuple(Intake(*one) for one in intake),
    )
