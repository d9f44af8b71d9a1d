"""What is said of a cluster's nodes, and `stepwell db distribute` without a cluster."""

import re
from dataclasses import replace

import asyncpg
import pytest

from app import errors
from app.database.schema import citus, migration
from app.database.schema.citus import Node
from app.maintenance.commands import database_schema as database_commands
from app.settings import Settings

COORDINATOR = Node("c:5432", True, False, vector="0.8.5")
WORKER = Node("w:5432", False, True, vector="0.8.5")
GUARDED = re.compile(
    r"IF to_regclass\('pg_catalog\.pg_dist_partition'\) IS NULL (?:AND [^;]+? )?THEN.*?END IF;", re.DOTALL
)
GENERIC = re.compile(r"force_generic_plan|enable_(?:sort|seqscan) = off")
MARK = "jsonb_contains(jsonb,jsonb)"


@pytest.mark.parametrize(
    ("nodes", "problems"),
    [
        ([COORDINATOR, WORKER], []),
        ([COORDINATOR, replace(WORKER, error="refused")], ["node w:5432 gives no answer: refused"]),
        (
            [COORDINATOR, replace(WORKER, vector=None)],
            ["node w:5432 has pgvector not installed, 0.8 or newer is needed"],
        ),
        ([COORDINATOR, replace(WORKER, vector="0.7.4")], ["node w:5432 has pgvector 0.7.4, 0.8 or newer is needed"]),
        (
            [COORDINATOR, replace(WORKER, unmarked=(MARK,))],
            [f"{MARK} is not LEAKPROOF on node w:5432, as it is on the coordinator: run `stepwell db distribute`"],
        ),
        ([replace(COORDINATOR, unmarked=(MARK,)), replace(WORKER, unmarked=(MARK,))], []),
    ],
)
def test_what_a_node_lacks_is_named(nodes: list[Node], problems: list[str]) -> None:
    assert citus.node_problems(nodes) == problems


async def test_a_server_without_citus_is_refused_and_unchanged(address, database) -> None:
    with pytest.raises(errors.SchemaMismatch, match="CREATE EXTENSION citus"):
        await migration.distribute(address.owner_dsn)
    assert await migration.nodes(database) == []
    await migration.check_nodes(database)


async def test_the_embedded_server_is_refused_with_the_setting(tmp_path) -> None:
    with pytest.raises(errors.BadRequest, match="one node") as refused:
        await database_commands._distribute(Settings(data_dir=tmp_path), None)
    assert refused.value.field == "STEPWELL_MIGRATION_URL"


async def test_the_schema_depends_on_no_function_that_a_node_could_lack(owner: asyncpg.Connection) -> None:
    """Functions that statements call on a user's node, and that `distribute` creates there."""
    rows = await owner.fetch(
        "SELECT CAST(p.oid AS regprocedure)::text AS name FROM pg_proc AS p JOIN pg_language AS l ON l.oid = p.prolang"
        " WHERE p.pronamespace = 'stepwell'::regnamespace AND p.provolatile = 'i'"
    )
    named = {f"stepwell.{function.replace(', ', ',')}" for function in citus.FUNCTIONS}
    assert {row["name"] for row in rows} == named


async def test_generic_plans_and_what_they_need_are_set_only_where_there_is_no_citus(owner) -> None:
    rows = await owner.fetch(
        "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'stepwell'::regnamespace AND prosrc <> ''"
    )
    sources = {row["proname"]: row["prosrc"] for row in rows}
    assert [name for name, source in sources.items() if GENERIC.search(GUARDED.sub("", source))] == []
    assert {name for name, source in sources.items() if GENERIC.search(source)} == {"enter_plain", "plan_writes"}


async def test_the_nodes_of_a_cluster_are_told_every_setting_of_a_transaction(owner) -> None:
    """Citus passes on SET LOCAL, but not `set_config`."""
    body = await owner.fetchval("SELECT prosrc FROM pg_proc WHERE oid = 'stepwell.enter_plain'::regproc")
    told = set(re.findall(r"SET LOCAL ([\w.]+)", body))
    assert told >= set(re.findall(r"set_config\('([\w.]+)'", body)) >= {"stepwell.user_id", "hnsw.ef_search"}
