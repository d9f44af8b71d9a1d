"""Names that are empty, very long or very many neither break an index nor keep a document from being stored."""

from __future__ import annotations

import os
from typing import Any

from harness import Tenant

from app.derived_rows import Damage
from app.entities import entities
from app.entities.types import EntityDraft
from app.maintenance import repair
from app.text.names import tags

NAMES = 100_000 if os.environ.get("STEPWELL_FAULTS") == "full" else 1_000
LONG_WORD, LONG_PHRASE = "Q" + "x" * 4_999, " ".join(["Quarrymaster"] * 400)
BLANK = ["", " ", "\u200b", "!!", "--", "..", "\u00a0"]
MENTIONED = "SELECT count(DISTINCT entity_id) FROM stepwell.mentions WHERE user_id = $1"


def _numbered(number: int) -> str:
    """A name of letters alone, different for each number."""
    return "Ana Mason" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


async def _assert_sound(tenant: Tenant) -> None:
    assert (await repair.check(tenant.user_id, db=tenant.db, keys=tags.KEYS)).damage == Damage()


async def test_names_of_thousands_of_characters_and_blank_ones_are_stored_or_dropped(tenant: Tenant) -> None:
    people = [*BLANK, LONG_WORD, LONG_PHRASE, "Ana Silva"]
    text = f"Yesterday {LONG_WORD} met Ana Silva. Then {LONG_PHRASE} left."
    await tenant.add(f"# {LONG_PHRASE}\n\n{text}", "phrase", metadata={"people": people, "tags": people})
    await tenant.add(text, "word", title=LONG_WORD)
    answer = await tenant.ask("Where was Ana Silva yesterday?")
    assert {hit.candidate.uri for hit in answer.hits} == {"phrase", "word"}
    await _assert_sound(tenant)


async def test_an_entity_of_the_longest_words_is_found_and_deleted(tenant: Tenant) -> None:
    draft = EntityDraft(type="person", name="Q" + "x" * 199, aliases=("y" * 200,))
    (stored,) = await entities.add([draft], tenant.user_id, db=tenant.db, embedder=tenant.embedder)
    await tenant.add(f"We met {'y' * 200} there.", "note")
    await _assert_sound(tenant)
    await entities.remove(stored.entity_id, tenant.user_id, db=tenant.db)
    await _assert_sound(tenant)


async def test_a_document_of_very_many_names_is_linked_to_each(tenant: Tenant, owner: Any) -> None:
    text = "\n\n".join(f"We met {_numbered(number)}." for number in range(NAMES))
    await tenant.add(text, "names")
    assert await owner.fetchval(MENTIONED, tenant.user_id) == NAMES
    await _assert_sound(tenant)
