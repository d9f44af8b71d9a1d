"""`stepwell doctor` names what is wrong and what would change it, and never falls over."""

import dataclasses
import json
from uuid import uuid4

import asyncpg
import harness
import pytest
from typer.testing import CliRunner

from app import errors
from app.__main__ import app
from app.database import driver_errors, transactions
from app.database.embedded import embedded_files, postgres
from app.database.schema import inspection, migration
from app.maintenance import doctor
from app.maintenance.commands import doctor as doctor_command
from app.maintenance.doctor import Expected

PASSWORD = "hunter2canary"


@pytest.fixture
async def expected(database) -> Expected:
    model, dimension = (await harness.services(database)).expected_schema
    return Expected(model, dimension, many_users=True)


async def found(database, expected) -> dict[str, doctor.Finding]:
    return {finding.name: finding for finding in await doctor.database(database, expected)}


async def test_a_healthy_database_has_no_error_and_is_described(database, expected, user):
    tenant = harness.Tenant(database, user_id=user)
    await tenant.add_all({"a": "Lime mortar sets slowly.", "b": "Cement sets fast. Lime does not."})
    findings = await found(database, expected)
    fixed = inspection.pgvector((await inspection.server(database)).vector) >= doctor.PGVECTOR_FIXED
    noted = {name for name, finding in findings.items() if finding.level != "ok"}
    assert noted == (set() if fixed else {"pgvector"})
    assert "stepwell_service" in findings["database"].message
    assert findings["postgres"].message.startswith("Postgres ")
    assert findings["embedding"].message.endswith(" dimensions")


async def test_a_check_that_takes_too_long_is_no_defect(address, expected, owner):
    limits = transactions.TimeLimits(write_ms=50)
    async with transactions.connect(address.service_dsn, pool_size=1, limits=limits) as hurried, owner.transaction():
        await owner.execute("LOCK TABLE stepwell.embedding_identity IN ACCESS EXCLUSIVE MODE")
        findings = await doctor.database(hurried, expected)
    late = [finding for finding in findings if "within the time limit" in finding.message]
    assert {(finding.level, finding.fix) for finding in late} == {("warning", doctor._LATER)}


async def test_an_owner_s_role_is_an_error_for_many_users_and_a_warning_for_one(address, expected):
    async with transactions.connect(address.owner_dsn, pool_size=1) as owner:
        strict = (await found(owner, expected))["role"]
        lenient = (await found(owner, Expected(expected.model, expected.dimension, many_users=False)))["role"]
    assert (strict.level, lenient.level) == ("error", "warning")
    assert "is a superuser" in strict.message
    assert "stepwell_service" in strict.fix


async def test_an_empty_database_without_pgvector_is_reported_with_the_fixes(new_database):
    async with transactions.connect((await new_database()).service_dsn, pool_size=1) as empty:
        findings = await found(empty, Expected("fake", 64, many_users=True))
    assert findings["revision"].level == findings["pgvector"].level == "error"
    assert "stepwell db upgrade" in findings["revision"].fix
    assert "CREATE EXTENSION vector" in findings["pgvector"].fix


async def test_a_database_in_another_encoding_is_refused_and_one_without_letters_is_reported(new_database):
    address = await new_database()
    for encoding, level in (("LATIN1", "error"), ("UTF8", "warning")):
        other = dataclasses.replace(address, name=f"{address.name}_{encoding.lower()}")
        made = f"CREATE DATABASE {other.name} TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C' ENCODING"
        await address.fetch(f"{made} {encoding}")
        async with transactions.connect(other.owner_dsn, pool_size=1) as database:
            finding = (await found(database, Expected("fake", 64, many_users=True)))["postgres"]
        assert (finding.level, finding.fix) == (level, doctor._IN_UTF8)
        if level == "error":
            with pytest.raises(errors.SchemaMismatch, match="in LATIN1: create it with ENCODING 'UTF8'"):
                await migration.upgrade(other.owner_dsn, model="fake", dimension=64)


async def test_every_defect_is_found_and_the_other_checks_still_run(new_database, template, user):
    address = await new_database(template)
    broken = transactions.connect(address.service_dsn, pool_size=1)
    tenant = harness.Tenant(broken, user_id=user)
    await tenant.add("Lime mortar sets slowly.")
    for defect in (
        "DROP INDEX stepwell.ix_embeddings_embedding",
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'stepwell.ix_documents_metadata'::regclass",
        "ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) NOT LEAKPROOF",
    ):
        await address.fetch(defect)
    findings = await found(broken, Expected("another", 64, many_users=True))
    await address.fetch("UPDATE stepwell.alembic_version SET version_num = '0099'")
    of_another = await found(broken, Expected("another", 64, many_users=True))
    await broken.close()
    assert "0099" in of_another["revision"].message
    assert "Install the newer version" in of_another["revision"].fix
    assert "schema" not in of_another, "its columns and indexes are not known"
    assert "all-MiniLM-L6-v2 (384 dimensions)" in findings["embedding"].message
    assert "STEPWELL_EMBEDDER" in findings["embedding"].fix
    assert "ix_embeddings_embedding is missing" in findings["schema"].message
    assert "REINDEX INDEX stepwell.ix_documents_metadata" in findings["schema"].message
    assert findings["leakproof"].level == "warning"
    assert "ALTER FUNCTION pg_catalog.jsonb_contains(jsonb,jsonb) LEAKPROOF;" in findings["leakproof"].fix


async def test_rights_that_a_dump_without_them_has_lost_are_named_and_the_remedy_restores_them(
    new_database, template, expected
):
    address = await new_database(template)
    lines = (migration.scripts() / "schema.sql").read_text().splitlines()
    async with transactions.connect(address.service_dsn, pool_size=1) as service:
        await address.fetch("REVOKE INSERT, DELETE ON stepwell.documents FROM stepwell_service")
        of_table = (await found(service, expected))["schema"]
        await address.fetch("REVOKE USAGE ON SCHEMA stepwell FROM stepwell_service")
        of_schema = (await found(service, expected))["revision"]
        for line in lines:
            if line.startswith(("GRANT", "REVOKE")):
                await address.fetch(line)
        healed = (await found(service, expected))["schema"]
    assert of_table.message == "stepwell_service may not DELETE, INSERT in table documents"
    assert of_table.fix == of_schema.fix == doctor._RIGHTS
    assert (of_table.level, of_schema.level, healed.level) == ("error", "error", "ok")


@pytest.mark.parametrize(
    ("version_num", "vector", "name", "level"),
    [
        (140_011, "0.8.6", "postgres", "error"),
        (150_000, "0.8.6", "postgres", "ok"),
        (180_004, "0.7.4", "pgvector", "error"),
        (180_004, "0.8.3", "pgvector", "warning"),
        (180_004, "0.8.4", "pgvector", "ok"),
        (180_004, "0.10.0", "pgvector", "ok"),
    ],
)
async def test_versions_are_judged_as_numbers(version_num, vector, name, level):
    server = inspection.ServerFacts(version_num, "x", "UTF8", False, vector, "r", False, False, False, True, True, 0)
    examined = doctor.Examined(None, server, Expected("fake", 64, many_users=True))
    assert (await dict(doctor.SERVER_CHECKS)[name](examined))[0] == level


@pytest.mark.parametrize(
    ("locale", "level"),
    [
        ("LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C.UTF-8' LOCALE 'C'", "ok"),
        ("LOCALE_PROVIDER builtin BUILTIN_LOCALE 'C'", "warning"),
        ("LOCALE_PROVIDER libc LOCALE 'C'", "warning"),
        ("LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'SQL_ASCII'", "error"),
        ("LOCALE_PROVIDER libc LOCALE 'C' ENCODING 'EUC_JP'", "error"),
    ],
)
async def test_a_locale_whose_lower_case_is_of_ascii_alone_is_named(address, owner, locale, level):
    if owner.get_server_version() < (17,) and "builtin" in locale:
        pytest.skip("Postgres has no builtin locales before 17")
    name = f"test_{uuid4().hex}"
    await owner.execute(f"CREATE DATABASE {name} TEMPLATE template0 {locale}")
    async with transactions.connect(address.server.dsn(user=postgres.OWNER, database=name), pool_size=1) as database:
        finding = (await found(database, Expected("fake", 64, many_users=False)))["postgres"]
    await owner.execute(f"DROP DATABASE {name}")
    assert (finding.level, "LC_CTYPE" in (finding.message + finding.fix)) == (level, level != "ok")


async def test_names_are_compared_where_the_database_quotes_them_all(new_database, template):
    address = await new_database(template)
    await address.fetch(f'ALTER DATABASE "{address.name}" SET quote_all_identifiers = on')
    async with transactions.connect(address.service_dsn, pool_size=1) as database:
        assert (await found(database, Expected("fake", 64, many_users=True)))["schema"].level == "ok"


async def test_a_search_path_without_pgvector_is_named(new_database, template):
    address = await new_database(template)
    await address.fetch(f'ALTER DATABASE "{address.name}" SET search_path = pg_catalog')
    async with transactions.connect(address.service_dsn, pool_size=1) as database:
        finding = (await found(database, Expected("fake", 64, many_users=True)))["schema"]
    assert (finding.level, finding.message.count(";")) == ("error", 0)
    assert "search_path of this role or database lacks pgvector's schema public" in finding.message


async def test_a_server_that_cannot_be_asked_is_not_taken_for_a_node_of_a_cluster(new_database, template, monkeypatch):
    message = driver_errors.translate(asyncpg.InvalidSQLStatementNameError("lost"), read_only=False).message

    async def nodes(_db):
        raise errors.DatabaseUnavailable(message)

    monkeypatch.setattr(doctor.migration, "nodes", nodes)
    async with transactions.connect((await new_database(template)).service_dsn, pool_size=1) as database:
        finding = (await found(database, Expected("fake", 64, many_users=True)))["database"]
    assert "set STEPWELL_PREPARED_STATEMENTS=off" in finding.message
    assert (finding.message, finding.fix) == (f"Not checked: {message}", "")


def test_a_full_disk_is_an_error_and_a_nearly_full_one_a_warning(tmp_path):
    assert [doctor.disk(free, "/x").level for free in (10**8, 10**9, 10**10)] == ["error", "warning", "ok"]
    assert inspection.free_bytes(tmp_path / "not" / "yet") > 0


@pytest.mark.parametrize(
    ("address", "fix"),
    [
        (f"postgresql://stepwell_service:{PASSWORD}@127.0.0.1:9/db", "Start Postgres, or correct DATABASE_URL."),
        (f"mysql://stepwell_service:{PASSWORD}@127.0.0.1/db", "Correct DATABASE_URL."),
        (f"postgresql://stepwell_service:{PASSWORD}@127.0.0.1:port/db", "Correct DATABASE_URL."),
    ],
)
def test_an_unreachable_database_is_a_finding_and_the_exit_status_1(monkeypatch, address, fix):
    monkeypatch.setenv("DATABASE_URL", address)
    ran = CliRunner().invoke(app, ["doctor", "--json"])
    assert ran.exit_code == 1, ran.output
    findings = {one["name"]: one for one in json.loads(ran.stdout)["findings"]}
    assert (findings["database"]["level"], findings["database"]["fix"]) == ("error", fix)
    assert findings["embedder"]["level"] == "ok", "the rest is looked at all the same"
    assert PASSWORD not in ran.output


@pytest.mark.parametrize(
    ("url", "said", "fix"),
    [
        ("mysql://a/b", "must start with postgresql://", "Correct DATABASE_READ_URL."),
        ("stranger", "The server refuses the role in DATABASE_READ_URL, or its password.", "correct DATABASE_READ_URL"),
    ],
)
def test_a_wrong_address_of_the_standby_is_named_by_its_variable(monkeypatch, address, url, said, fix):
    monkeypatch.setenv("DATABASE_URL", address.service_dsn)
    stranger = address.service_dsn.replace(f"{postgres.SERVICE_ROLE}@", "stranger@", 1)
    monkeypatch.setenv("DATABASE_READ_URL", stranger if url == "stranger" else url)
    ran = CliRunner().invoke(app, ["doctor", "--json"])
    assert ran.exit_code == 1, ran.output
    errors_of = {one["name"]: one for one in json.loads(ran.stdout)["findings"] if one["level"] == "error"}
    (found,) = (errors_of[name] for name in ("database", "standby") if name in errors_of)
    assert said in found["message"]
    assert fix in found["fix"]


def test_bad_settings_are_findings_too(monkeypatch):
    monkeypatch.setenv("STEPWELL_PORT", "harbour")
    monkeypatch.setenv("STEPWELL_HOST", "0.0.0.0")
    ran = CliRunner().invoke(app, ["doctor"])
    assert ran.exit_code == 1
    assert "Correct STEPWELL_PORT." in ran.output
    assert "harbour" not in ran.output


def test_a_missing_database_and_a_refused_role_are_named(server):
    ghost = server.dsn(user=postgres.SERVICE_ROLE, database="ghost")
    stranger = server.dsn(user="stranger")
    for address, message in ((ghost, "no database of this name"), (stranger, "refuses the role")):
        ran = CliRunner().invoke(app, ["doctor"], env={"DATABASE_URL": address})
        assert ran.exit_code == 1
        assert message in ran.output
        assert "Start Postgres" not in ran.output, "it has answered"


def test_an_embedded_server_that_cannot_run_is_a_finding_that_names_its_logs(tmp_path):
    layout = embedded_files.Layout(tmp_path, tmp_path)
    layout.base.mkdir()
    layout.base.chmod(0o777)
    ran = CliRunner().invoke(app, ["doctor", "--json"], env={"STEPWELL_DATA_DIR": str(tmp_path), "DATABASE_URL": None})
    found = {one["name"]: one for one in json.loads(ran.stdout)["findings"]}["database"]
    assert "writable by others" in found["message"]
    assert str(layout.log.relative_to(tmp_path)) in found["fix"].rstrip(".").split()


def test_a_long_path_is_shown_whole(capsys):
    path = f"/srv/{'folder/' * 40}models"
    doctor_command._print([doctor.Finding("embedder", "error", f"Nothing is in {path}.", "Free space.")])
    assert path in "".join(capsys.readouterr().out.split())
