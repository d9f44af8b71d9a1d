"""DATABASE_URL takes libpq's TLS parameters."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import certificates
import pytest

from app import errors
from app.database import transactions

SSL_REQUEST_BYTES = 8


@pytest.fixture
async def over_tls(address: Any, tmp_path: Path) -> AsyncIterator[tuple[str, Path]]:
    """The address of a TLS server in front of the real Postgres (whose build has no TLS), and its certificate."""
    certificate, key = certificates.write(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    socket_file = address.owner_dsn.partition("host=")[2].partition("&")[0] + "/.s.PGSQL.5432"
    serving: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        with closing(writer):
            request = await reader.readexactly(SSL_REQUEST_BYTES)
            if request != b"\x00\x00\x00\x08\x04\xd2\x16\x2f":
                return  # a client that does not ask for TLS is turned away
            writer.write(b"S")
            await writer.start_tls(context)
            up_reader, up_writer = await asyncio.open_unix_connection(socket_file)
            with closing(up_writer):
                done, rest = await asyncio.wait(
                    [asyncio.create_task(_copy(reader, up_writer)), asyncio.create_task(_copy(up_reader, writer))],
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for task in rest:
                    task.cancel()
                await asyncio.gather(*done, *rest, return_exceptions=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    yield f"postgresql://stepwell_service@127.0.0.1:{port}/{address.name}", certificate
    server.close()
    await asyncio.wait(serving, timeout=5)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


@pytest.mark.parametrize("parameters", ["sslmode=require", "sslmode=verify-full&sslrootcert={}"])
async def test_the_database_is_reached_over_tls(over_tls, parameters: str) -> None:
    address, certificate = over_tls
    dsn = f"{address}?{parameters.format(certificate)}"
    async with transactions.connect(dsn, pool_size=1) as database, database.shared():
        pass


@pytest.mark.parametrize("parameters", ["sslmode=disable", "sslmode=verify-full&sslrootcert={}"])
async def test_a_server_without_tls_or_with_an_untrusted_certificate_is_not_used(over_tls, parameters, tmp_path):
    address, _ = over_tls
    (tmp_path / "other").mkdir()
    other, _ = certificates.write(tmp_path / "other")
    async with transactions.connect(f"{address}?{parameters.format(other)}", pool_size=1) as database:
        with pytest.raises(errors.DatabaseUnavailable):
            async with database.shared():
                pass


@pytest.mark.parametrize("parameters", ["sslmode=banana", "sslmode=require&sslrootcert=/nowhere/root.crt"])
def test_a_tls_parameter_that_cannot_be_used_is_named(parameters: str) -> None:
    with pytest.raises(errors.BadRequest, match=r"sslmode must be one of|sslrootcert"):
        transactions.connect(f"postgresql://me@db.example/stepwell?{parameters}")
