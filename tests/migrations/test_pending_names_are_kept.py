"""What waited to be linked before one job a user did all of it still waits after the upgrade."""

from app.database import transactions
from app.database.schema import migration
from app.entities.linking import mention_refresh
from app.entities.store import mentions, name_changes
from app.text.names import names

MODEL, DIMENSION = "fake", 64
DOCUMENT = "11111111-1111-1111-1111-111111111111"
WAITING = f"""
INSERT INTO stepwell.tenants (user_id) VALUES ('ana'), ('bob'), ('cy');
INSERT INTO stepwell.documents (user_id, document_id, identity, title, config, content, content_hash, attributes_hash,
                                chunk_count, names_version)
VALUES ('bob', '{DOCUMENT}', '\\x00', 'Long', 'english', 'Long.', '\\x00', '\\x00', 0, {names.VERSION});
INSERT INTO stepwell.jobs (job_id, user_id, kind, payload)
VALUES (gen_random_uuid(), 'ana', 'relink', '{{}}'),
       (gen_random_uuid(), 'bob', 'link_document', '{{"document_id": "{DOCUMENT}"}}');
INSERT INTO stepwell.entity_changes (user_id, name_key, name, version, pending, lowered)
VALUES ('ana', 'ana', 'Ana', 3, true, true), ('ana', 'ben', 'Ben', 2, false, false), ('cy', 'cy', 'Cy', 1, true, false);
"""


async def test_0042_keeps_what_waits_to_be_linked(new_database) -> None:
    empty = await new_database()
    await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION, revision="0040")
    owner = await empty.connect()
    database, as_owner = (transactions.connect(dsn, pool_size=1) for dsn in (empty.service_dsn, empty.owner_dsn))
    try:
        await owner.execute(WAITING)
        await migration.upgrade(empty.owner_dsn, model=MODEL, dimension=DIMENSION)
        assert sorted(await mention_refresh.enqueue_all(as_owner)) == ["bob", "cy"], "ana has a job"
        async with database.reading("ana") as reading:
            (change,) = await name_changes.pending(reading, limit=9)
            assert (change.key, change.name, change.before) == ("ana", "Ana", 2**63 - 1)
        async with database.reading("bob") as reading:
            assert [str(one) for one in await mentions.unread(reading, version=names.VERSION, limit=9)] == [DOCUMENT]
        jobs = await owner.fetch("SELECT user_id, kind FROM stepwell.jobs ORDER BY user_id")
        assert [tuple(row) for row in jobs] == [("ana", "relink"), ("bob", "relink"), ("cy", "relink")]
    finally:
        await owner.close()
        await database.close()
        await as_owner.close()
