"""Checks, reserves and binds the address of the service, and announces it."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Iterator

from app import errors, logging_setup
from app.cli import terminal
from app.runtime import local_token
from app.settings import Settings

log = logging.getLogger(__name__)

GRACE_S = 12
"""Seconds that running requests have to finish after SIGTERM; closing takes up to 3 s more."""


def check_port(settings: Settings) -> None:
    """Raises Conflict where another process listens on the port, BadRequest where the host or port cannot be used."""
    for one in _bind_all(settings, shared=False):
        one.close()


def choose_port(settings: Settings) -> Settings:
    """The settings, with a free port in place of port 0. Raises what `check_port` raises."""
    if settings.port:
        return settings
    probes = bind(settings)
    chosen = probes[0].getsockname()[1]
    for probe in probes:
        probe.close()
    return settings.model_copy(update={"port": chosen})


def bind(settings: Settings) -> list[socket.socket]:
    """Sockets that are bound to the address and do not listen yet; port 0 chooses one for all of them.

    Other processes of this account can bind the same address in the same way: the kernel distributes connections among
    the sockets that listen (Linux; other systems may prefer one). Raises what `check_port` raises.
    """
    return _bind_all(settings, shared=True)


def _bind_all(settings: Settings, *, shared: bool) -> list[socket.socket]:
    bound = list(_bind(settings.host, settings.port, shared=shared))
    if not bound:
        raise errors.BadRequest(f"This machine has no address {settings.host}.", field="STEPWELL_HOST")
    return bound


def _bind(host: str, port: int, *, shared: bool) -> Iterator[socket.socket]:
    try:
        for family, kind, protocol, _name, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            made = socket.socket(family, kind, protocol)
            try:
                _set_options(made, shared=shared)
                made.bind((address[0], port, *address[2:]))
            except OSError as error:
                made.close()
                # A host may have addresses that this machine lacks, such as ::1 without IPv6.
                if error.errno in (errno.EADDRINUSE, errno.EACCES):
                    raise
                continue
            port = made.getsockname()[1] if shared else port
            yield made
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise errors.Conflict(
                f"Port {port} of {host} is in use: stop what listens there, or choose another port with --port "
                "or STEPWELL_PORT."
            ) from error
        if error.errno == errno.EACCES or isinstance(error, socket.gaierror):
            field = "STEPWELL_PORT" if error.errno == errno.EACCES else "STEPWELL_HOST"
            message = f"The service cannot listen on {host}:{port}: {error.strerror}."
            raise errors.BadRequest(message, field=field) from error
        raise


def _set_options(made: socket.socket, *, shared: bool) -> None:
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if shared:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    if made.family == socket.AF_INET6:
        made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)


def announce(settings: Settings, *, token: str) -> None:
    """Print or log the address, and how requests are authenticated if there is a local token."""
    if logging_setup.writes_json(settings.log_json):
        # Logs are kept and passed on: they name the token's file, not the token.
        file = {"token_file": str(settings.folder / local_token.FILE_NAME)} if token else {}
        log.info("starting", extra={"action": "starting", "address": settings.address, **file})
        return
    terminal.err.print(
        f"Stepwell listens on {settings.address} (playground at /, Swagger UI at /docs). Ctrl-C stops it.",
        soft_wrap=True,
    )
    if token:
        terminal.err.print(f"Requests need the header Authorization: Bearer {token}", soft_wrap=True)
