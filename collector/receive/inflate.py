"""Undo the Content-Encoding of a body, piece by piece, stopping at the limit."""

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import zstandard

from collector.receive.failures import TooLarge, Unreadable, UnsupportedMedia

ACCEPTED = "gzip, deflate, zstd, identity"
PIECE = 2**18

# Little enough that what comes out of one slice stays small: a zstd block of 4 bytes can stand for 128 KiB.
SLICE = {"gzip": 2**14, "deflate": 2**14, "zstd": 2**8}
# A member costs work even if it is empty. A file joined from blocks of 64 KiB, as bgzip writes them, has far fewer.
MOST_MEMBERS = 10_000


def coding_of(header: str | None) -> str:
    """The coding that a Content-Encoding header names, as one of ACCEPTED. Raises UnsupportedMedia."""
    named = (header or "identity").strip().lower().removeprefix("x-") or "identity"
    if named in ("identity", "gzip", "deflate", "zstd"):
        return named
    raise UnsupportedMedia(
        f"Content-Encoding {named[:40]!r} is not read here: send one of {ACCEPTED}",
        reason="Content-Encoding is not one that is read",
    )


def inflate(body: bytes, coding: str, limit: int, grow: Callable[[int], None] = lambda _: None) -> bytes:
    """The body as it was before it was encoded. `grow` hears of every piece before it is kept.

    Raises TooLarge at the limit, and Unreadable if the body is not in that coding, is cut, or has more behind it.
    """
    if coding == "identity":
        return body
    pieces: list[bytes] = []
    size = 0
    for piece in _pieces(body, coding):
        size += len(piece)
        if size > limit:
            raise too_large(limit, "inflated")
        grow(len(piece))
        pieces.append(piece)
    return b"".join(pieces)


def too_large(limit: int, how: str) -> TooLarge:
    """The failure that names the limit."""
    return TooLarge(
        f"the body is larger than {limit} bytes as {how}: send smaller batches, or raise max_body_bytes",
        reason=f"body too large as {how}",
    )


def _pieces(body: bytes, coding: str) -> Iterator[bytes]:
    """Inflate all members (gzip) or frames (zstd), one behind the other."""
    opener = _opener(body, coding)
    current: Any = None
    members = 0
    whole = memoryview(body)
    for start in range(0, len(body), SLICE[coding]):
        rest, held_back = bytes(whole[start : start + SLICE[coding]]), False
        while rest or held_back:
            if current is None:
                if members and coding == "gzip" and not rest.strip(b"\0"):
                    break  # zeros pad the end of some gzip files
                if members >= (1 if coding == "deflate" else MOST_MEMBERS):
                    raise Unreadable(f"the {coding} body has too much behind its end", reason=f"{coding} body goes on behind its end")
                current = opener()
                members += 1
            try:
                piece, rest, done = _step(current, rest, coding)
            except (zlib.error, zstandard.ZstdError) as error:
                where = "" if members == 1 else f" (member {members})"
                raise Unreadable(
                    f"Content-Encoding {coding} but body is not {coding}{where}: leave the header out, or encode the body",
                    reason=f"Content-Encoding {coding} but body is not {coding}",
                ) from error
            if piece:
                yield piece
            held_back = len(piece) == PIECE and not done and coding != "zstd"  # read, but not yet given out
            if done:
                current = None
    if current is not None or not members:
        raise Unreadable(f"the {coding} body is cut: its end is missing", reason=f"{coding} body is cut")


def _step(current: Any, given: bytes, coding: str) -> tuple[bytes, bytes, bool]:
    """One piece, what of `given` is not yet read, and whether the member ended."""
    if coding == "zstd":  # its decompressor has no bound for one step: the slice is the bound
        piece = current.decompress(given)
        return piece, current.unused_data if current.eof else b"", current.eof
    piece = current.decompress(given, PIECE)
    return piece, current.unused_data if current.eof else current.unconsumed_tail, current.eof


def _opener(body: bytes, coding: str) -> Callable[[], Any]:
    if coding == "gzip":
        return lambda: zlib.decompressobj(wbits=31)
    if coding == "zstd":
        # The window may be as large as the largest body, no larger: it is memory that the sender chooses.
        return lambda: zstandard.ZstdDecompressor(max_window_size=2**26).decompressobj()
    # "deflate" means zlib's format, but some send the bare stream.
    is_zlib = len(body) >= 2 and body[0] & 15 == 8 and int.from_bytes(body[:2]) % 31 == 0
    return lambda: zlib.decompressobj(wbits=15 if is_zlib else -15)
