"""`stepwell db upgrade` by an owner that may not change roles says what a superuser has to run."""

import pytest


@pytest.fixture
async def modest(new_database, owner):
    """The addresses of a database whose owner has no CREATEROLE, on a server where the service's role lacks a limit."""
    made = await new_database()
    await made.fetch("CREATE EXTENSION vector")
    await owner.execute("CREATE ROLE modest LOGIN; ALTER ROLE stepwell_service RESET lock_timeout")
    await owner.execute(f"ALTER DATABASE {made.name} OWNER TO modest")
    yield made.server.dsn(user="modest", database=made.name), made.service_dsn
    await owner.execute("ALTER ROLE stepwell_service SET lock_timeout = '1min'")
    await owner.execute(f"DROP DATABASE {made.name} WITH (FORCE)")
    await owner.execute("DROP ROLE modest")


def test_what_the_owner_may_not_do_is_said_with_the_statement(modest, run_command, monkeypatch, caplog):
    owner_dsn, service_dsn = modest
    monkeypatch.setenv("STEPWELL_MIGRATION_URL", owner_dsn)
    monkeypatch.setenv("DATABASE_URL", service_dsn.replace("stepwell_service@", "stepwell_service:hush@", 1))
    assert run_command("db", "upgrade").code == 0
    assert "run as a superuser: ALTER ROLE stepwell_service SET lock_timeout = '1min'" in caplog.text
    ran = run_command("db", "upgrade", "--set-service-password")
    assert ran.code == 1
    assert "may not set the password: run as a superuser ALTER ROLE stepwell_service PASSWORD" in " ".join(
        ran.err.split()
    )
    assert "hush" not in ran.err


@pytest.mark.parametrize("command", ["keys list", "repair"])
def test_a_database_without_a_schema_is_told_from_a_role_that_does_not_own_it(
    modest, run_command, monkeypatch, command
):
    monkeypatch.setenv("STEPWELL_MIGRATION_URL", modest[0])
    monkeypatch.setenv("DATABASE_URL", modest[1])
    ran = run_command(*command.split())
    assert ran.code == 1
    assert "run `stepwell db upgrade`" in " ".join(ran.err.split())
