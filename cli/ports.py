"""Ask whether a port can be had, and what listens where."""

import errno
import socket

from schemas.settings import Settings

# The setting of each port and what it is for, in the order they are shown.
PORTS = (
    ("otlp_http_port", "OTLP over HTTP"),
    ("otlp_grpc_port", "OTLP over gRPC"),
    ("port", "the dashboard"),
    ("worker_port", "health and metrics of the worker"),
)


def option(setting: str) -> str:
    """The command line option of a setting."""
    return "--" + setting.replace("_", "-")


def why_not(host: str, port: int) -> str | None:
    """None if the port can be bound, else the reason in a few words. Port 0 (any free one) always can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror:
        return f"{host} is no address of this machine"
    with socket.socket(family, kind, protocol) as probe:
        # A port whose last connections are still dying is free for servers; they set the same.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(address)
        except OSError as error:
            return {
                errno.EADDRINUSE: "already in use",
                errno.EACCES: "not allowed for this user",
                errno.EADDRNOTAVAIL: f"{host} is no address of this machine",
            }.get(error.errno or 0, error.strerror or str(error))
    return None


def free_port(host: str) -> int:
    """A port that was free a moment ago."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.bind(address)
        port: int = probe.getsockname()[1]
        return port


def settled(settings: Settings) -> Settings:
    """The same settings with a real number for every port given as 0, so that all processes and the user learn of it."""
    chosen = {name: free_port(settings.host) for name, _ in PORTS if getattr(settings, name) == 0}
    return settings.model_copy(update=chosen)


def url(host: str, port: int, scheme: str = "http") -> str:
    """Where a client on this machine finds the port of a server bound to a host."""
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host, host)
    return f"{scheme}://[{reachable}]:{port}" if ":" in reachable else f"{scheme}://{reachable}:{port}"
