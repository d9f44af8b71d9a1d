"""A changed document has the derived rows of a new upload, and no concurrent change is lost."""

import asyncio
from typing import Any

import pytest
from harness import Tenant, uris

from app.database.transactions import Database
from app.documents import document_patches
from app.documents import operations as documents
from app.documents.types import IngestResult
from app.entities.linking import mention_refresh

TEXT = "# Lime\n\nAna Silva and Ilse Brandt use lime mortar.\n\n## Harbour Light\n\nBurnt lime, slaked lime."

ALIASES = """
SELECT a.name FROM stepwell.entity_names AS a
JOIN stepwell.entities AS e USING (user_id, entity_id)
WHERE user_id = $1 AND e.name = $2 AND a.place > 0
ORDER BY a.name
"""


async def _change(tenant: Tenant, stored: IngestResult, patch: dict[str, Any]) -> IngestResult:
    return await document_patches.apply(stored.document_id, patch, tenant.user_id, tenant.services())


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"people": ["Mara Veit"]}},
        {"metadata": {"people": ["Ana Silva"], "importance": 5}},
        {"title": "Harbour Light"},
        {"metadata": {"filename": "Deed_4711.md"}},
        {"metadata": {"filename": 4711}, "title": "Silent Harbour"},
        {"metadata": {"filename": {"of": "deed"}}, "title": "Silent Harbour"},
        {"language": "de"},
        {"content": "# Sand\n\nMara Veit sieves sand.\n\n## Harbour Light\n\nOf sand."},
        {"metadata": {"people": None}, "uri": "elsewhere", "title": "Silent Harbour"},
    ],
)
async def test_a_changed_document_has_the_rows_that_its_text_gives(tenant, database, patch) -> None:
    await tenant.add("Mara Veit saw the harbour light and the silent harbour.", "other")
    stored = await tenant.add(TEXT, "lime", metadata={"people": ["Ana Silva"]})
    changed = await _change(tenant, stored, patch)
    await mention_refresh.settle(tenant.user_id, tenant.services())
    assert changed.status == "changed"
    await tenant.assert_sound()


async def test_a_change_of_metadata_that_names_nobody_writes_no_mention(tenant: Tenant, owner: Any) -> None:
    stored = await tenant.add(TEXT, "lime", metadata={"people": ["Ana Silva"]})
    rows = "SELECT ctid, entity_id FROM stepwell.mentions WHERE user_id = $1 ORDER BY ctid"
    before = await owner.fetch(rows, tenant.user_id)
    assert (await _change(tenant, stored, {"metadata": {"importance": 5}})).status == "changed"
    assert before
    assert await owner.fetch(rows, tenant.user_id) == before


async def test_a_file_is_found_by_its_name_beside_its_title(tenant: Tenant) -> None:
    stored = await tenant.add(TEXT, "lime", title="Lime", metadata={"filename": "Deed_4711-lime.md"})
    await tenant.add("Sand is sieved.", "sand")
    assert uris(await tenant.ask("deed 4711", mode="lexical")) == ["lime"]
    assert uris(await tenant.ask("+title:deed", mode="lexical")) == ["lime"]
    assert (await _change(tenant, stored, {"metadata": {"filename": "Offer.md"}})).embedded == 0
    assert uris(await tenant.ask("offer", mode="lexical")) == ["lime"]


async def test_no_concurrent_change_is_lost(
    tenant: Tenant, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database._turns, "_timeout_s", 60.0)
    stored = await tenant.add(TEXT, "lime")
    keys = [f"key-{number}" for number in range(8)]
    await asyncio.gather(*(_change(tenant, stored, {"metadata": {key: 1}}) for key in keys))
    document = await documents.get(stored.document_id, tenant.user_id, db=database)
    assert set(document.metadata) == set(keys)


async def _aliases(tenant: Tenant, owner: Any, name: str) -> list[str]:
    return [row["name"] for row in await owner.fetch(ALIASES, tenant.user_id, name)]


async def test_an_alias_goes_with_the_last_metadata_that_gives_it(tenant: Tenant, owner: Any) -> None:
    await tenant.add("Sand is sieved by Ilbra and by Lantern.", "sand", metadata={"people": ["Ilse Brandt"]})
    note = await tenant.add(TEXT, "ilse", title="Ilse Brandt", metadata={"aliases": ["Ilbra", "Lantern"]})
    other = await tenant.add("Of her.", "her", title="Ilse Brandt", metadata={"Aliases": "Lantern"})
    assert await _aliases(tenant, owner, "Ilse Brandt") == ["Ilbra", "Lantern"]
    await _change(tenant, note, {"metadata": {"aliases": ["Kestrel"]}})
    assert await _aliases(tenant, owner, "Ilse Brandt") == ["Kestrel", "Lantern"]
    await tenant.add(TEXT, "ilse", title="Ilse Brandt")
    assert await _aliases(tenant, owner, "Ilse Brandt") == ["Lantern"]
    await documents.delete(other.document_id, tenant.user_id, db=tenant.db)
    assert await _aliases(tenant, owner, "Ilse Brandt") == []
    await mention_refresh.settle(tenant.user_id, tenant.services())
    await tenant.assert_sound()
