"""Distributes the tables of users over the nodes of a Citus cluster by `user_id`, in one colocation group.

All rows of a user are on one node, so a statement about one user is run there alone. Shared tables and the audit log
stay on the coordinator, to which every process connects.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from app import errors
from app.database import sql
from app.database.schema import tables

COLUMN, FIRST = "user_id", "tenants"
"""The distribution column, and the table whose shards the other tables follow."""
VECTOR = (0, 8)
"""The oldest version of pgvector with iterative scans."""
FUNCTIONS = ("microseconds(text)", "moments(jsonb)", "with_characters(tsvector)", "link_strength(text, bigint)")
"""The functions that statements call on the node of a user."""
LOCK_LOCALLY = "ALTER FUNCTION stepwell.vector_tables(boolean) SET citus.enable_ddl_propagation = off"
"""The LOCK in this function then locks only the coordinator's table, which all transactions pass, not every node's."""
SETTING = b'    SET "citus.'
"""The beginning of a line in a dump that sets a parameter of Citus. Without Citus, only a superuser may set one."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster. `error` says why it did not answer, `unmarked` has functions that are not leakproof."""

    name: str
    coordinator: bool
    holds_shards: bool
    error: str = ""
    vector: str | None = None
    bytes: int = 0
    unmarked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Distribution:
    """How the tables are distributed: the numbers of shards and of their nodes, and the newly distributed tables."""

    shards: int
    nodes: int
    added: tuple[str, ...]


def _is_distributed(connection: Connection) -> bool:
    """Whether the tables of users are distributed."""
    if not _has_citus(connection):
        return False
    known = sa.text("SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass(:table))")
    return bool(connection.scalar(known, {"table": f"{tables.SCHEMA}.{FIRST}"}))


def distribute(connection: Connection, *, shards: int | None = None) -> Distribution:
    """Distribute the tables that are not distributed yet, in the caller's transaction. Idempotent.

    Stored rows are moved. Raises SchemaMismatch if the cluster lacks a requirement, BadRequest if the tables are
    distributed in another number of shards.
    """
    _check_cluster(connection)
    before = {row.name: row.shards for row in _read_distributed(connection)}
    if shards is not None and before.get(FIRST, shards) != shards:
        raise errors.BadRequest(f"The tables are distributed in {before[FIRST]} shards already.", field="--shards")
    added = [name for name in _names(connection) if name not in before]
    connection.execute(sa.text("SET LOCAL citus.multi_shard_modify_mode TO 'sequential'"))
    connection.execute(sa.text(LOCK_LOCALLY))
    for name in added:
        connection.execute(*_creation(name, shards))
    for name in added:
        remove = sa.text("SELECT truncate_local_data_after_distributing_table(CAST(:table AS regclass))")
        connection.execute(remove, {"table": f"{tables.SCHEMA}.{name}"})
    for function in FUNCTIONS:
        spread = sa.text("SELECT create_distributed_function(CAST(:function AS regprocedure))")
        connection.execute(spread, {"function": f"{tables.SCHEMA}.{function}"})
    total = next(row.shards for row in _read_distributed(connection) if row.name == FIRST)
    return Distribution(total, sum(node.holds_shards for node in nodes(connection)), tuple(added))


def extend(connection: Connection) -> None:
    """Distribute new tables of a distributed database; does nothing in any other."""
    if _is_distributed(connection):
        distribute(connection)


def mark_leakproof(connection: Connection) -> list[str]:
    """Mark the functions that are leakproof on the coordinator as leakproof on the other nodes too.

    Each node commits on its own. Returns a message for each node and function where that failed.
    """
    known = nodes(connection)
    ours = {name for node in known if node.coordinator for name in node.unmarked}
    wanted = sorted({name for node in known for name in node.unmarked} - ours)
    run = sa.text("SELECT nodename, nodeport, success, result FROM run_command_on_workers(:command)")
    return [
        f"{name} on {row.nodename}:{row.nodeport}: {row.result}"
        for name in wanted
        for row in connection.execute(run, {"command": f"ALTER FUNCTION pg_catalog.{name} LEAKPROOF"})
        if not row.success
    ]


def differences(connection: Connection) -> list[str]:
    """What is wrong with the distribution of the tables. Reads only the coordinator's catalogue."""
    if not _is_distributed(connection):
        return []
    found = {row.name: row for row in _read_distributed(connection)}
    group = found[FIRST].colocation
    problems = []
    for name in _names(connection):
        row = found.get(name)
        if row is None:
            problems.append(f"table {name} is not distributed: run `stepwell db distribute`")
        elif (row.distributed_by, row.colocation) != (COLUMN, group):
            problems.append(f"table {name} is not distributed by {COLUMN} like {FIRST}")
        elif row.local_bytes:
            problems.append(f"table {name} has rows on the coordinator that are not part of it any more")
    return problems


def node_problems(known: list[Node]) -> list[str]:
    """What the nodes of a cluster lack."""
    problems = [f"node {node.name} gives no answer: {node.error}" for node in known if node.error]
    answering = [node for node in known if not node.error]
    problems += [
        f"node {node.name} has pgvector {node.vector or 'not installed'}, 0.8 or newer is needed"
        for node in answering
        if not node.vector or tuple(int(part) for part in node.vector.split(".") if part.isdigit()) < VECTOR
    ]
    ours = {name for node in answering if node.coordinator for name in node.unmarked}
    problems += [
        f"{name} is not LEAKPROOF on node {node.name}, as it is on the coordinator: run `stepwell db distribute`"
        for node in answering
        if node.holds_shards
        for name in node.unmarked
        if name not in ours
    ]
    return problems


def nodes(connection: Connection) -> list[Node]:
    """The nodes that the tables are distributed over, and the coordinator; none if they are not distributed."""
    return _answers(connection) if _is_distributed(connection) else []


def _answers(connection: Connection) -> list[Node]:
    """The nodes of the cluster with their answers."""
    found = []
    for row in connection.execute(sql.statement("citus_nodes")):
        error, answer = "", {}
        if row.success:
            answer = json.loads(row.answer)
            answer["unmarked"] = tuple(answer["unmarked"])
        else:
            error = row.answer.strip().splitlines()[0]
        found.append(Node(row.name, row.coordinator, row.holds_shards, error, **answer))
    return found


def _check_cluster(connection: Connection) -> None:
    """Raises SchemaMismatch unless this is the coordinator of a cluster whose nodes can hold the tables."""
    if not _has_citus(connection):
        raise errors.SchemaMismatch("Citus is missing: run CREATE EXTENSION citus as a superuser on every node first.")
    if connection.scalar(sa.text("SELECT groupid FROM pg_dist_local_group")) != 0:
        raise errors.SchemaMismatch("This node is a worker: connect to the coordinator.")
    known = _answers(connection)
    if not any(node.holds_shards for node in known):
        raise errors.SchemaMismatch(
            "The cluster has no node for shards: run citus_set_coordinator_host and citus_add_node on the coordinator."
        )
    problems = [problem for problem in node_problems(known) if "LEAKPROOF" not in problem]
    if problems:
        raise errors.SchemaMismatch(f"The cluster cannot hold the tables: {'; '.join(problems)}.")


def _has_citus(connection: Connection) -> bool:
    return bool(connection.scalar(sa.text("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL")))


_DISTRIBUTED = sql.inline(
    """
    SELECT CAST(c.relname AS text) AS name, column_to_column_name(p.logicalrelid, p.partkey) AS distributed_by,
           p.colocationid AS colocation, g.shardcount AS shards, pg_relation_size(c.oid) AS local_bytes
    FROM pg_dist_partition AS p
    JOIN pg_dist_colocation AS g ON g.colocationid = p.colocationid
    JOIN pg_class AS c ON c.oid = p.logicalrelid
    JOIN pg_namespace AS n ON n.oid = c.relnamespace
    WHERE n.nspname = 'stepwell' AND p.partmethod = 'h'
    ORDER BY c.relname
    """
)


def _read_distributed(connection: Connection) -> list[sa.Row[tuple[str, str, int, int, int]]]:
    return list(connection.execute(_DISTRIBUTED))


def _names(connection: Connection) -> list[str]:
    """The tables to distribute that exist, referenced tables first."""
    names = [table.name for table in tables.of_users() if table is not tables.audit_log]
    names.sort(key=lambda name: name != FIRST)
    exist = sa.text("SELECT to_regclass(:table) IS NOT NULL")
    wanted = [*names, *tables.NEXT]
    return [name for name in wanted if connection.scalar(exist, {"table": f"{tables.SCHEMA}.{name}"})]


def _creation(name: str, shards: int | None) -> tuple[sa.TextClause, dict[str, object]]:
    values: dict[str, object] = {"table": f"{tables.SCHEMA}.{name}", "column": COLUMN}
    arguments = "CAST(:table AS regclass), :column, colocate_with => :group"
    values["group"] = f"{tables.SCHEMA}.{FIRST}" if name != FIRST else "none"
    if name == FIRST and shards is not None:
        arguments, values["shards"] = f"{arguments}, shard_count => :shards", shards
    return sa.text(f"SELECT create_distributed_table({arguments})"), values
