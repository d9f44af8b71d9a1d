"""Reads the addresses of databases as libpq does, with the parameters that providers of Postgres put into them."""

from __future__ import annotations

import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlencode

import sqlalchemy as sa

from app import errors

PORT = 5432
_PARTS = re.compile(r"(?P<user>(?:[^@]*@)?)(?P<hosts>[^/?]*)(?P<rest>.*)", re.DOTALL)
_HOST = re.compile(r"(?:\[(?P<v6>[^\]]+)\]|(?P<name>[^:@\[\]]*))(?::(?P<port>\d{1,5}))?")
_FILES = frozenset({"sslrootcert", "sslcert", "sslkey", "sslcrl"})
_TLS = _FILES | {"sslmode", "sslpassword", "ssl_min_protocol_version", "ssl_max_protocol_version", "sslnegotiation"}
_PASSED = frozenset({"target_session_attrs", "passfile", "krbsrvname", "gsslib"})
"""Parameters that the driver takes under the same name."""
_SETTINGS = frozenset({"application_name", "options"})
_LEFT_OUT = frozenset(
    {"channel_binding", "gssencmode", "client_encoding", "fallback_application_name", "keepalives"}
    | {"keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"}
)
"""Parameters that this driver does not use: it does not bind channels, and sets its own keepalives."""
_VALUES = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "target_session_attrs": ("any", "read-write", "read-only", "primary", "standby", "prefer-standby"),
    "channel_binding": ("disable", "prefer", "require"),
    "gssencmode": ("disable", "prefer"),
    "sslnegotiation": ("postgres", "direct"),
}


@dataclass(frozen=True, slots=True)
class Address:
    """An address: its parts, its hosts with their ports in order (None: by PGHOST and PGPORT), and its parameters.

    Of the user, password and database that it names twice, the parameter counts.
    """

    user: str | None
    password: str | None
    database: str | None
    hosts: tuple[tuple[str, int | None], ...]
    parameters: Mapping[str, str]

    @property
    def server(self) -> str:
        """The named hosts and ports (of others the defaults), or a socket's folder; never the user or the password."""
        named = [host if host.startswith("/") else f"{host}:{port or PORT}" for host, port in self.hosts]
        return ", ".join(named) or f"localhost:{PORT}"

    @property
    def needs_tls(self) -> bool:
        """Whether only encrypted connections may be made."""
        return self.parameters.get("sslmode") in ("require", "verify-ca", "verify-full")

    def url(self) -> sa.URL:
        """The address for SQLAlchemy, without parameters and further hosts."""
        host, port = self.hosts[0] if self.hosts else (None, None)
        url = sa.URL.create("postgresql+asyncpg", self.user, self.password, database=self.database)
        if host and host.startswith("/"):
            return url.set(query={"host": host})
        return url.set(host=host, port=port)

    def settings(self) -> dict[str, str]:
        """The settings of a session that the address names."""
        return {name: value for name, value in self.parameters.items() if name in _SETTINGS}

    def arguments(self) -> dict[str, Any]:
        """The driver's arguments. Like libpq, the driver reads TLS parameters only in an address."""
        given = {"user": self.user, "password": self.password, "database": self.database}
        given |= {name: value for name, value in self.parameters.items() if name in _PASSED}
        arguments: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if self.hosts:
            arguments["host"] = [host for host, _ in self.hosts]
            ports = [port for _, port in self.hosts]
            if any(ports) or len(ports) > 1:
                arguments["port"] = [port or PORT for port in ports]
        if tls := {name: value for name, value in self.parameters.items() if name in _TLS}:
            arguments["dsn"] = f"postgresql://?{urlencode(tls)}"
        if seconds := int(self.parameters.get("connect_timeout", 0)):
            arguments["timeout"] = float(seconds)
        return arguments


def check(dsn: str, variable: str) -> None:
    """Raise BadRequest that names the variable if its address cannot be read."""
    try:
        read(dsn)
    except errors.BadRequest as error:
        raise errors.BadRequest(error.message, field=variable) from error


def read(dsn: str) -> Address:
    """The parts of an address. Raises BadRequest, with one sentence, if the address cannot be used."""
    scheme, separator, rest = dsn.partition("://")
    if not separator or scheme.split("+")[0] not in {"postgres", "postgresql"}:
        raise _bad("The address must start with postgresql://")
    parts = _PARTS.fullmatch(rest)
    assert parts is not None  # each part may be empty
    try:
        url = sa.make_url(f"postgresql://{parts['user']}{parts['rest']}")
    except (sa.exc.ArgumentError, ValueError) as error:
        raise _bad("The address cannot be read: it must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE.") from error
    parameters = {name: value if isinstance(value, str) else value[-1] for name, value in url.query.items()}
    hosts = _hosts(parts["hosts"]) or _list(parameters.pop("host", ""), parameters.pop("port", ""))
    password = None if url.password is None else str(url.password)
    named = {"user": url.username, "password": password, "dbname": url.database}
    user, password, database = (parameters.pop(name, "") or value or None for name, value in named.items())
    return Address(user, password, database, hosts, _check(parameters))


def _hosts(text: str) -> tuple[tuple[str, int | None], ...]:
    if not text:
        return ()
    found = [_HOST.fullmatch(one) for one in text.split(",")]
    hosts = [(unquote(one["v6"] or one["name"]), one["port"]) for one in found if one]
    if len(hosts) < len(found) or any(port and int(port) > 65_535 for _, port in hosts):
        raise _bad("The address names no host and port: write HOST:PORT, and other characters of a password as %40.")
    return tuple((host or "localhost", int(port) if port else None) for host, port in hosts)


def _list(hosts: str, ports: str) -> tuple[tuple[str, int | None], ...]:
    """Hosts and ports from parameters, each a list with commas. A single port applies to all hosts."""
    if not hosts and not ports:
        return ()
    names, numbers = hosts.split(","), ports.split(",") if ports else [""]
    numbers = numbers * len(names) if len(numbers) == 1 else numbers
    if len(names) != len(numbers):
        raise _bad("The address must name one port, or one for each host.")
    found: list[tuple[str, int | None]] = []
    for name, port in zip(names, numbers, strict=True):
        if port and not (port.isdecimal() and 0 < int(port) < 65_536):
            raise _bad("The port in the address must be a number.")
        if name.startswith("/"):
            found.append((name, int(port) if port else None))
        else:
            found += _hosts(f"{name}:{port}" if port else name or "localhost")
    return tuple(found)


def _check(parameters: dict[str, str]) -> Mapping[str, str]:
    known = _TLS | _PASSED | _SETTINGS | _LEFT_OUT | {"connect_timeout"}
    if parameters.get("sslrootcert") == "system":
        parameters["sslrootcert"] = ssl.get_default_verify_paths().cafile or "system"
    for name, value in parameters.items():
        if name not in known:
            raise _bad(f"The address has a parameter {name}, which Postgres does not have: remove it.")
        if name in _VALUES and value not in _VALUES[name]:
            raise _bad(f"{name} must be one of {', '.join(_VALUES[name])}.")
        if name == "connect_timeout" and not value.isdecimal():
            raise _bad("connect_timeout must be a whole number of seconds.")
        if name in _FILES and not Path(value).is_file():
            raise _bad(f"The file that {name} names does not exist.")
    return parameters


def _bad(message: str) -> errors.BadRequest:
    return errors.BadRequest(message, field="DATABASE_URL")
