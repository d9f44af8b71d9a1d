"""The schema and the SQL can be distributed by user, and grant no more than is needed.

The rules are those of a database sharded by `user_id`, checked in Postgres' catalogue and in the statements' text. Each
rule is also tried on a deliberately bad schema or statement, so that it cannot pass by checking nothing.
"""

import itertools
import re

import asyncpg
import pytest
import statements

from app.database.schema import tables

SHARED = {*tables.SHARED, "alembic_version"}
TENANT = {table.name for table in tables.of_users()}
LOCAL = SHARED | {"audit_log"}  # the tables that a cluster keeps on the coordinator

KEYS = """
SELECT r.relname AS table, i.relname AS key,
       ARRAY(SELECT pg_get_indexdef(x.indexrelid, n, true) FROM generate_series(1, x.indnkeyatts) AS n) AS columns
FROM pg_index AS x
JOIN pg_class AS i ON i.oid = x.indexrelid
JOIN pg_class AS r ON r.oid = x.indrelid
WHERE x.indisunique AND r.relnamespace = CAST($1 AS regnamespace)
"""
FOREIGN = """
SELECT r.relname AS table, t.relname AS target, c.conname AS name,
       c.confdeltype AS on_delete, c.confupdtype AS on_update,
       ARRAY(SELECT a.attname FROM unnest(c.conkey) WITH ORDINALITY AS k (n, ordinal)
             JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = k.n ORDER BY k.ordinal) AS own,
       ARRAY(SELECT a.attname FROM unnest(c.confkey) WITH ORDINALITY AS k (n, ordinal)
             JOIN pg_attribute AS a ON a.attrelid = c.confrelid AND a.attnum = k.n ORDER BY k.ordinal) AS theirs
FROM pg_constraint AS c
JOIN pg_class AS r ON r.oid = c.conrelid
JOIN pg_class AS t ON t.oid = c.confrelid
WHERE c.contype = 'f' AND r.relnamespace = CAST($1 AS regnamespace)
"""
AUTOMATIC = """
SELECT r.relname || '.' || t.tgname AS name FROM pg_trigger AS t JOIN pg_class AS r ON r.oid = t.tgrelid
WHERE NOT t.tgisinternal AND r.relnamespace = CAST($1 AS regnamespace)
UNION ALL
SELECT r.relname || '.' || w.rulename FROM pg_rewrite AS w JOIN pg_class AS r ON r.oid = w.ev_class
WHERE w.rulename <> '_RETURN' AND r.relnamespace = CAST($1 AS regnamespace)
UNION ALL
SELECT r.relname || '.' || c.conname FROM pg_constraint AS c JOIN pg_class AS r ON r.oid = c.conrelid
WHERE c.contype = 'x' AND r.relnamespace = CAST($1 AS regnamespace)
"""
SECURITY = """
SELECT r.relname AS table, r.relrowsecurity AS enabled, r.relforcerowsecurity AS forced,
       ARRAY(SELECT p.polcmd::text || ' ' || pg_get_expr(p.polqual, p.polrelid) FROM pg_policy AS p
             WHERE p.polrelid = r.oid AND p.polpermissive) AS reading,
       ARRAY(SELECT p.polcmd::text || ' ' || pg_get_expr(p.polwithcheck, p.polrelid) FROM pg_policy AS p
             WHERE p.polrelid = r.oid AND p.polpermissive) AS writing
FROM pg_class AS r WHERE r.relkind IN ('r', 'p') AND r.relnamespace = CAST($1 AS regnamespace)
"""
OWN_ROWS = "* (user_id = NULLIF(current_setting('stepwell.user_id'::text, true), ''::text))"
BAD = """
CREATE TABLE bad.parent (user_id text NOT NULL, id uuid PRIMARY KEY, n int UNIQUE, UNIQUE (user_id, id));
CREATE TABLE bad.child (user_id text NOT NULL, id uuid NOT NULL, PRIMARY KEY (id, user_id),
    CONSTRAINT by_id FOREIGN KEY (id) REFERENCES bad.parent (id),
    CONSTRAINT nulling FOREIGN KEY (user_id, id) REFERENCES bad.parent (user_id, id) ON DELETE SET NULL,
    CONSTRAINT updating FOREIGN KEY (user_id, id) REFERENCES bad.parent (user_id, id) ON UPDATE CASCADE,
    EXCLUDE (id WITH =));
CREATE UNIQUE INDEX folded ON bad.child (lower(user_id), id);
CREATE RULE quiet AS ON DELETE TO bad.child DO INSTEAD NOTHING;
ALTER TABLE bad.child ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
"""


@pytest.fixture(scope="module")
async def bad(owner: asyncpg.Connection):
    """The name of a schema that breaks the rules."""
    await owner.execute(f"CREATE SCHEMA bad; {BAD}")
    yield "bad"
    await owner.execute("DROP SCHEMA bad CASCADE")


async def _keys_without_user(owner: asyncpg.Connection, schema: str, shared: set[str]) -> set[str]:
    rows = await owner.fetch(KEYS, schema)
    assert rows
    return {row["key"] for row in rows if row["table"] not in shared and row["columns"][0] != "user_id"}


async def test_user_id_is_the_first_column_of_every_primary_key_and_unique_index(owner, bad) -> None:
    assert await _keys_without_user(owner, "stepwell", SHARED) == set()
    assert await _keys_without_user(owner, bad, set()) == {"parent_pkey", "parent_n_key", "child_pkey", "folded"}


async def _unfit_references(owner: asyncpg.Connection, schema: str) -> set[str]:
    rows = await owner.fetch(FOREIGN, schema)
    assert rows
    return {
        row["name"]
        for row in rows
        if (row["own"][0], row["theirs"][0]) != ("user_id", "user_id")
        or row["on_delete"] not in (b"a", b"c")
        or row["on_update"] != b"a"
    }


async def test_user_id_is_the_first_column_of_every_foreign_key_and_none_sets_null_or_cascades_updates(owner, bad):
    assert await _unfit_references(owner, "stepwell") == set()
    assert await _unfit_references(owner, bad) == {"by_id", "nulling", "updating"}


async def test_no_reference_crosses_between_tenant_and_shared_tables(owner) -> None:
    for row in await owner.fetch(FOREIGN, "stepwell"):
        assert {row["table"], row["target"]} <= TENANT


async def test_there_are_no_triggers_rules_or_exclusions(owner, bad) -> None:
    assert [row["name"] for row in await owner.fetch(AUTOMATIC, "stepwell")] == []
    assert {row["name"] for row in await owner.fetch(AUTOMATIC, bad)} == {"child.quiet", "child.child_id_excl"}


async def test_every_tenant_table_has_the_policy_enabled_and_not_forced(owner, bad) -> None:
    found = {row["table"]: row for row in await owner.fetch(SECURITY, "stepwell")}
    assert found.keys() == TENANT | SHARED, "add a revision to migrations/versions"
    assert {name for name, row in found.items() if row["enabled"]} == TENANT
    assert not [name for name, row in found.items() if row["forced"]]
    for name in TENANT:
        assert (found[name]["reading"], found[name]["writing"]) == ([OWN_ROWS], [OWN_ROWS]), name
    assert {row["table"] for row in await owner.fetch(SECURITY, bad) if row["forced"]} == {"child"}


async def test_the_user_is_a_plain_non_empty_text_everywhere(owner) -> None:
    rows = await owner.fetch(
        """SELECT c.relname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated = '',
                  a.attidentity = '', l.collisdeterministic,
                  EXISTS (SELECT FROM pg_constraint AS k
                          WHERE k.conrelid = c.oid AND k.conname = 'ck_' || c.relname || '_user_id'
                          AND pg_get_constraintdef(k.oid) = 'CHECK ((user_id <> ''''::text))')
           FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'user_id'
           JOIN pg_collation AS l ON l.oid = a.attcollation
           WHERE c.relnamespace = 'stepwell'::regnamespace AND c.relkind = 'r'"""
    )
    assert {row[0] for row in rows} == TENANT | {"api_keys", "key_uses", "jobs"}
    assert {tuple(row)[1:] for row in rows} == {("text", True, True, True, True, True)}


AS_OWNER = {
    *("changed_names", "count_key_uses", "expire_feedback", "expire_name_changes", "expire_responses", "is_unlinked"),
    *("live_key", "names_to_match", "token_key", "visible_entities", "visible_names", "watched_sources"),
}
RESTRICTED = {
    *("is_unlinked", "link_strength", "microseconds", "moments", "plan_each", "visible_entities", "visible_names"),
    *("changed_names", "names_to_match", "use_list", "with_characters"),
}
FUNCTIONS = {"enter_plain", "enter_restricted", "plan_writes", "vector_tables"} | AS_OWNER | RESTRICTED
GRANTED = """
SELECT r.relname AS table, array_agg(a.privilege_type ORDER BY a.privilege_type) AS privileges
FROM pg_class AS r CROSS JOIN aclexplode(r.relacl) AS a
WHERE r.relnamespace = 'stepwell'::regnamespace AND r.relkind IN ('r', 'p') AND a.grantee = $1::regrole
GROUP BY r.relname, a.grantee
"""


async def test_only_the_functions_on_all_users_run_as_their_owner_and_with_a_fixed_search_path(owner) -> None:
    rows = await owner.fetch(
        "SELECT proname, prosecdef, proconfig FROM pg_proc WHERE pronamespace = 'stepwell'::regnamespace"
    )
    assert {row["proname"] for row in rows} == FUNCTIONS
    fixed = ["search_path=pg_catalog, pg_temp"]
    assert {row["proname"]: row["proconfig"] for row in rows if row["prosecdef"]} == dict.fromkeys(AS_OWNER, fixed)


async def test_only_the_service_and_its_restricted_role_may_call_a_function_or_use_a_table(owner) -> None:
    grantees = await owner.fetch(
        """SELECT DISTINCT a.grantee
           FROM pg_proc AS p CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
           WHERE p.pronamespace = 'stepwell'::regnamespace AND a.grantee <> p.proowner
           UNION
           SELECT a.grantee FROM pg_class AS r CROSS JOIN aclexplode(r.relacl) AS a
           WHERE r.relnamespace = 'stepwell'::regnamespace AND a.grantee <> r.relowner
           UNION
           SELECT a.grantee FROM pg_namespace AS n CROSS JOIN aclexplode(n.nspacl) AS a
           WHERE n.nspname = 'stepwell' AND a.grantee <> n.nspowner"""
    )
    roles = await owner.fetch("SELECT oid FROM pg_roles WHERE rolname IN ('stepwell_service', 'stepwell_restricted')")
    assert {row["grantee"] for row in grantees} == {row["oid"] for row in roles}
    callable_ = await owner.fetch(
        """SELECT p.proname FROM pg_proc AS p CROSS JOIN aclexplode(p.proacl) AS a
           WHERE p.pronamespace = 'stepwell'::regnamespace AND a.grantee = 'stepwell_restricted'::regrole"""
    )
    assert {row["proname"] for row in callable_} == RESTRICTED


async def test_the_service_may_change_the_rows_of_users_and_the_job_queue_only(owner) -> None:
    found = {row["table"]: row["privileges"] for row in await owner.fetch(GRANTED, "stepwell_service")}
    every, reading = ["DELETE", "INSERT", "SELECT", "UPDATE"], ["SELECT"]
    changed = (TENANT | {"jobs"}) - {"audit_log"}
    read_only = ("alembic_version", "embedding_identity", "embedding_target")
    assert found == {name: every for name in changed} | dict.fromkeys(read_only, reading)


OF_DOCUMENTS = {"documents", "chunks", "embeddings", "mentions", "headings", "sources", "source_files"}
OF_ENTITIES = {"entities", "entity_names", "entity_members", "entity_words", "entity_vectors"}
MIXED = {"tenants", "lexemes", "postings", "text_statistics", "hidden_chunks", "jobs"}
"""What a restricted caller reads besides; `test_statements_join_visible_chunks` checks the statements."""


async def test_a_restricted_caller_may_only_read_and_a_policy_hides_rows_of_documents_and_entities(owner) -> None:
    found = {row["table"]: row["privileges"] for row in await owner.fetch(GRANTED, "stepwell_restricted")}
    models = {"embedding_identity", "embedding_target"}
    assert found == {name: ["SELECT"] for name in OF_DOCUMENTS | OF_ENTITIES | MIXED | models}
    policies = await owner.fetch(
        "SELECT tablename FROM pg_policies WHERE permissive = 'RESTRICTIVE' AND roles = '{stepwell_restricted}'"
    )
    assert {row["tablename"] for row in policies} == OF_DOCUMENTS | OF_ENTITIES
    inherits = "pg_has_role('stepwell_service', 'stepwell_restricted', 'USAGE')"
    member = f"SELECT {inherits}, admin_option FROM pg_auth_members WHERE roleid = 'stepwell_restricted'::regrole"
    assert [tuple(row) for row in await owner.fetch(f"{member} AND member = 'stepwell_service'::regrole")] == [
        (False, False)
    ]


OF_THE_OWNER = (
    *("catalogue", "inspection", "citus", "users_", "repair_postings", "migration", "roles", "restrictions"),
    *("reembed_gaps", "backups", "keys._CAN_RESTRICT"),
)
"""Prefixes of statements on the server, the schema or whole users, which no request runs."""
ABOUT_TENANTS = [name for name in statements.SOURCES if not name.startswith(OF_THE_OWNER)]


def _objections(body: str) -> set[str]:
    """Which rules of a distributed database a statement breaks."""
    found = set()
    flat = " ".join(_without_strings(body).split())
    if ";" in flat:
        found.add("several statements")
    if re.search(r"\bset_config\b", flat, re.IGNORECASE):
        found.add("set_config reaches no worker")
    if re.search(r"\bMERGE\b", flat):
        found.add("MERGE")
    if re.search(r"\bDO UPDATE\b.*?\bSET\b.*?\b(now|random|clock_timestamp|gen_random_uuid)\s*\(", flat):
        found.add("changing function in DO UPDATE SET")
    if re.search(r"\bUPDATE\b", flat) and re.search(r"\b(random|clock_timestamp|gen_random_uuid)\s*\(", flat):
        found.add("volatile function in UPDATE")
    if re.search(r"\b(FROM|JOIN)\s+(pg_\w+|information_schema\.\w+)(?!\w*\s*\()|\w*regclass\b", flat):
        found.add("the catalogue")
    named = set(re.findall(r"\bstepwell\.(\w+)", flat))
    if named & LOCAL and named & (TENANT - LOCAL):
        found.add("local and distributed tables")
    for written in re.split(r"(?=\bINSERT INTO\b)", flat)[1:]:
        if re.search(r"\bSELECT\b", written) and not re.search(r"\bRETURNING\b|\bON CONFLICT\b", written):
            found.add("INSERT SELECT without RETURNING or ON CONFLICT")
    found |= {f"{table} {alias} without its user" for table, alias in _unbound(flat)}
    return found


def _without_strings(body: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", body)


def _unbound(flat: str) -> set[tuple[str, str]]:
    """Tenant tables that are read or changed without `alias.user_id = :user_id`, and inserted into without the user."""
    read = re.findall(r"\b(?:FROM|JOIN|USING|UPDATE)\s+stepwell\.(\w+)(?:\s+AS)?\s+(\w+)", flat)
    bound = re.findall(r"\b(\w+)\.user_id = :user_id\b", flat)
    missing = {(table, alias) for table, alias in read if table in TENANT and alias not in bound}
    for table, alias in set(read):
        aliases = sum(found == (table, alias) for found in read)
        if table in TENANT and bound.count(alias) < aliases:
            missing.add((table, alias))
    for table, columns, values in re.findall(
        r"INSERT INTO stepwell\.(\w+)(?: AS \w+)? \(([^)]*)\) (?:SELECT|VALUES) ?\(?([^,]*)", flat
    ):
        if table in TENANT and (columns.split(",")[0].strip() != "user_id" or values.strip() != ":user_id"):
            missing.add((table, "inserted"))
    return missing


def test_every_statement_casts_each_of_its_binds() -> None:
    for name, source in statements.SOURCES.items():
        missing = set(source.binds)
        for few in (len(source.parts), 0, 1, 2):
            for parts in itertools.combinations(source.parts, few) if missing else ():
                missing -= set(re.findall(r"CAST\(:(\w+) AS ", str(source.compiled(*parts))))
        assert not missing, name


def test_every_statement_could_run_on_one_shard() -> None:
    found = {name: _objections(statements.text(statements.SOURCES[name])) for name in ABOUT_TENANTS}
    assert {name: objections for name, objections in found.items() if objections} == {}


BOUND = "FROM stepwell.chunks AS c WHERE c.user_id = :user_id"


@pytest.mark.parametrize(
    ("statement", "objection"),
    [
        ("SELECT 1; SELECT 2", "several statements"),
        ("SELECT set_config('a', 'b', true)", "set_config reaches no worker"),
        ("SELECT c.chunk_no FROM stepwell.chunks AS c", "chunks c without its user"),
        (f"SELECT {BOUND} AND EXISTS (SELECT FROM stepwell.documents AS d)", "documents d without its user"),
        (f"WITH a AS (SELECT {BOUND}) SELECT FROM stepwell.chunks AS c", "chunks c without its user"),
        ("DELETE FROM stepwell.postings AS p USING touched AS t", "postings p without its user"),
        ("UPDATE stepwell.lexemes AS l SET df = 0", "lexemes l without its user"),
        ("INSERT INTO stepwell.lexemes (lexeme, user_id) VALUES (1, :user_id)", "lexemes inserted without its user"),
        ("INSERT INTO stepwell.lexemes (user_id, df) SELECT :user_id, 1", "INSERT SELECT without RETURNING"),
        ("INSERT INTO a VALUES (1) ON CONFLICT (b) DO UPDATE SET at = now()", "changing function in DO UPDATE SET"),
        ("UPDATE stepwell.tenants AS t SET at = clock_timestamp()", "volatile function in UPDATE"),
        ("SELECT r.reltuples FROM pg_class AS r", "the catalogue"),
        ("SELECT FROM stepwell.jobs AS j JOIN stepwell.tenants AS t ON true", "local and distributed tables"),
        ("SELECT CAST('stepwell.embeddings' AS regclass)", "the catalogue"),
    ],
)
def test_negative_control_each_rule_detects_a_violation(statement, objection) -> None:
    assert [one for one in _objections(statement) if one.startswith(objection)]
