"""Addresses as providers of Postgres give them connect to a server that requires TLS, or are refused in a sentence."""

import debian_servers
import pytest
import test_supported_servers

from app import errors
from app.database import transactions
from app.database.schema import migration
from benchmarks.fake_embedder import FakeEmbedder

TAKEN = (
    "sslmode=require&channel_binding=require",
    "sslmode=require&connect_timeout=10&application_name=x",
    "sslmode=require&options=-c%20statement_timeout%3D5s%20-c%20work_mem%3D8MB",
    "sslmode=require&target_session_attrs=read-write",
    "sslmode=verify-full&sslrootcert={certificate}",
    "sslmode=verify-ca&sslrootcert={certificate}&gssencmode=disable&keepalives=1",
    "",
)
REFUSED = {
    "sslmode=disable": "requires TLS for this role, .*: set sslmode=require",
    "sslmode=require&target_session_attrs=standby": "is what target_session_attrs asks for",
    "sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt": "cannot be reached over TLS: self-signed",
    "sslmode=require&options=-c%20work_mem%3Dx": "invalid value for parameter",
}


async def check(dsn):
    async with transactions.connect(dsn, pool_size=1) as database, database.shared():
        pass


@pytest.fixture
async def base(debian):
    await test_supported_servers.run(debian, "postgres", f"CREATE ROLE app LOGIN PASSWORD '{debian_servers.PASSWORD}'")
    return f"postgresql://app:{debian_servers.PASSWORD}@127.0.0.1:{debian.port}/postgres?"


@pytest.mark.parametrize("parameters", TAKEN)
async def test_an_address_is_taken(debian, base, parameters):
    await check(base + parameters.format(certificate=debian.certificate))


async def test_the_first_of_several_hosts_that_answers_is_taken(debian, base):
    await check(base.replace("@", "@127.0.0.1:1,") + "sslmode=require&target_session_attrs=any")


@pytest.mark.parametrize("parameters", REFUSED)
async def test_an_address_is_refused_in_a_sentence(base, parameters):
    with pytest.raises(errors.StepwellError, match=REFUSED[parameters]):
        await check(base + parameters)


async def test_a_pooler_that_refuses_a_parameter_of_the_address_is_named(debian, base):
    words = {"app": debian_servers.PASSWORD}
    with test_supported_servers.through("transaction", "127.0.0.1", debian.port, words, tls=True) as port:
        pooled = base.replace(f":{debian.port}/", f":{port}/")
        await check(f"{pooled}sslmode=require&application_name=x")
        with pytest.raises(
            errors.SchemaMismatch, match=r"pooler .* refuses the connection: unsupported startup parameter"
        ):
            await check(f"{pooled}sslmode=require&options=-c%20work_mem%3D8MB")


async def test_pgvector_off_the_search_path_is_a_sentence_with_the_remedy(debian):
    async with test_supported_servers.on_debian(debian, "direct", schema="elsewhere", name="off_path") as database:
        await test_supported_servers.run(debian, "postgres", "ALTER DATABASE off_path RESET search_path")
        model = FakeEmbedder().model
        with pytest.raises(
            errors.SchemaMismatch, match=r'run ALTER DATABASE off_path SET search_path = "\$user", public, e'
        ):
            await migration.upgrade(database.owner_dsn, model=model.name, dimension=model.dimension)
