"""After writes that were found to be hard, or that are made at once, stored mentions are those of the documents.

`tests/faults/test_histories_with_kills.py` compares the mentions after long histories with those of a fresh database.
"""

import asyncio
import os
import random
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

import linking
import pytest
from harness import Tenant

from app import errors
from app.concurrency.limiter import Turn
from app.database import transactions
from app.database.filter_types import DocumentFilter
from app.derived_row_repairs import Damage
from app.documents import document_patches
from app.documents import operations as documents
from app.entities import operations as entities
from app.entities.linking import mention_refresh
from app.entities.types import EntityDraft
from app.jobs import store as jobs
from app.maintenance import repair
from app.text.names import metadata_names

FULL = os.environ.get("STEPWELL_FAULTS") == "full"
URIS = ("a", "b", "c", "d")
NAMES = (
    "vendors", "New", "file.txt", "Harbour Light", "Müller", "muller", "2026.11", "2026 11.md", "England",
    "Bank of England", "LiHua", "北京大学", "Ёлка", "state of the art", "Über uns", "Kästner Straße", "がく", "1,000",
    "New York (city)", "York", "K&V", ".NET", "node-v22", "X", "大学", "ABC社", "김민수",
)  # fmt: skip
"""Titles, headings, people and teams, and what texts contain in several forms."""
FORMS = (
    "{0} was there. The {0}", "the {1} is here", "all of {2}", "see src/doc/{1} and my-{0}", "{0}.x or ({1})",
    "## {0}\n\nIn oil.", "the new {1} of the Bank of {0}", "{3}", "v1.{1}.2", "昨日{0}で",
    "{0}에게",
)  # fmt: skip
LANGUAGES = (None, None, "de", "fr", "pl")


@dataclass(frozen=True)
class Write:
    """A write of one user, or a run of the jobs."""

    kind: str
    uri: str = "a"
    name: str = ""
    parts: tuple[str, ...] = ()
    language: str | None = None
    people: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(self.parts) or "Nothing."


@dataclass
class _Writer:
    """Applies writes for one user."""

    tenant: Tenant
    added: list[Any] = field(default_factory=list)

    async def write(self, one: Write) -> None:
        await getattr(self, f"_{one.kind}")(one)

    async def _put(self, one: Write) -> None:
        metadata = {"people": list(one.people)} if one.people else {}
        fields = {"title": one.name, "language": one.language, "metadata": metadata}
        await self.tenant.add(one.text, one.uri, **fields)

    async def _patch(self, one: Write) -> None:
        patch = {"title": one.name} if len(one.parts) % 2 else {"metadata": {"people": list(one.people) or None}}
        for document in await self._found(one.uri):
            services = self.tenant.services()
            await document_patches.apply(document.document_id, patch, self.tenant.user_id, services)

    async def _delete(self, one: Write) -> None:
        for document in await self._found(one.uri):
            await documents.delete(document.document_id, self.tenant.user_id, db=self.tenant.db)

    async def _entity(self, one: Write) -> None:
        context = {"db": self.tenant.db, "embedder": self.tenant.embedder}
        try:
            (entity,) = await entities.add([EntityDraft("team", one.name)], self.tenant.user_id, **context)
            self.added.append(entity.entity_id)
        except errors.StepwellError:
            if self.added:
                await entities.remove(self.added.pop(), self.tenant.user_id, db=self.tenant.db)

    async def _run(self, _one: Write) -> None:
        await linking.refresh(self.tenant)

    async def _found(self, uri: str) -> list[Any]:
        return await documents.page(
            self.tenant.user_id, db=self.tenant.db, limit=1, after=None, only=DocumentFilter(uri)
        )


def put(uri: str, name: str, *parts: str, **fields: Any) -> Write:
    return Write("put", uri, name, parts, **fields)


def _in_form(form: str, name: str) -> str:
    return form.format(name, name.lower(), name.upper(), name.replace(" ", "-").replace("ü", "u").replace("ä", "a"))


async def _damage(tenant: Tenant) -> Damage:
    """What a check finds when no job is left."""
    await mention_refresh.settle(tenant.user_id, tenant.services())
    async with tenant.db.reading(tenant.user_id) as reading:
        assert await jobs.count(reading, mention_refresh.KIND.name) == 0
    return (await repair.check(tenant.user_id, db=tenant.db, keys=metadata_names.KEYS)).damage


@pytest.mark.parametrize(
    "writes",
    [
        [put("b", "", "the vendors are here"), put("a", "vendors", "x"), put("a", "other", "x")],
        [put("b", "", "a new thing"), put("a", "New", "x"), Write("delete", "a")],
        [put("a", "", "see src/doc/file.txt now"), put("b", "file.txt", "x")],
        [put("a", "", "the harbour light"), put("b", "", "## Harbour Light\n\nx"), Write("delete", "b")],
        [put("a", "", "# England"), put("b", "England", "x"), put("c", "", "in england"), Write("delete", "b")],
        [put("a", "", "Herr Müller kam", language="de"), put("b", "Muller", "x")],
        [put("a", "", "in England", people=("England",)), put("b", "", "the Bank of England"), Write("delete", "a")],
    ],
    ids=lambda writes: writes[-1].name or writes[-1].kind,
)
async def test_a_check_finds_nothing_after_these_writes(database: Any, writes: list[Write]) -> None:
    writer = _Writer(Tenant(database))
    for one in writes:
        await writer.write(one)
    assert await _damage(writer.tenant) == Damage(), writes


async def test_a_check_finds_nothing_after_writes_at_once(database: Any) -> None:
    tenant, dice = Tenant(database), random.Random(7)

    def some() -> Write:
        parts = tuple(_in_form(dice.choice(FORMS), dice.choice(NAMES)) for _ in range(dice.randint(1, 3)))
        people = tuple(dice.choices(NAMES, k=dice.randint(0, 1)))
        kind = dice.choice(("put", "put", "patch", "delete", "entity", "run"))
        return Write(kind, dice.choice(URIS), dice.choice(NAMES), parts, dice.choice(LANGUAGES), people)

    async def write(writes: list[Write]) -> None:
        writer = _Writer(tenant)
        for one in writes:
            try:
                await writer.write(one)
            except (errors.NotFound, errors.Conflict, errors.Busy):
                continue

    await asyncio.gather(*(write([some() for _ in range(100 if FULL else 5)]) for _ in range(8)))
    assert await _damage(tenant) == Damage()


async def test_a_refresh_is_repeated_while_the_user_is_busy(address: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "TURN_S", 0.01)  # which the database reads as it is opened
    async with transactions.connect(address.service_dsn, pool_size=4, pool_wait_s=30.0) as database:
        tenant, tries, begin = Tenant(database), list[object](), database._turns.begin

        def count(user_id: str) -> Awaitable[Turn]:
            tries.append(user_id)
            return begin(user_id)

        await tenant.add("the vendors are here", "b")
        await tenant.add("x", "a", title="vendors")
        await tenant.add("x", "a", title="other")
        async with database.locking(tenant.user_id):
            monkeypatch.setattr(database._turns, "begin", count)
            refreshing = asyncio.create_task(linking.refresh(tenant))
            while len(tries) < 3 and not refreshing.done():  # noqa: ASYNC110 - the limiter sets no event
                await asyncio.sleep(0.01)
        assert await refreshing == 1
        assert await _damage(tenant) == Damage()
