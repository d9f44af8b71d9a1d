"""After any history of writes, during which the service was killed, everything is as if the rest had been stored once.

With STEPWELL_FAULTS=full in the environment, histories are longer, and there are more of them.
"""

import asyncio
import faulthandler
import json
import math
import random
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from forked_service import LARGE, ForkedService, forked_service
from running_service import FULL, until

from app import capability
from app.database import transactions
from app.derived_row_repairs import Damage
from app.maintenance import repair
from app.text.names import metadata_names

OPERATIONS, KILLS, SEEDS = (300, 12, range(1, 7)) if FULL else (16, 2, (1,))
RAG = "/api/rag"
WORDS = [f"{first}{last}" for first in ("copper", "lantern", "meadow", "anchor", "ember") for last in ("", *"aeiouxyz")]
PEOPLE = ("Ilse Brandt", "Tomas Vidal", "Mara Quint", "Jürgen Müller", "Li Hua", "Oskar Lindqvist")
TEAMS = ("Harbour Light", "Bank of England", "K&V", "New York", ".NET", "York")
TITLES = (
    "New", "vendors", "England", "Harbour Light", "Tidal survey", "state of the art", "2026.11", "file.txt", "LiHua",
    "北京大学", "Ёлка", "Über uns", "Kästner Straße", "がく", "1,000", "New York (city)", "node-v22", "X",
)  # fmt: skip
FORMS = (
    "{0} was there. The {0}", "the {1} is here", "all of {2}", "see src/doc/{1} and my-{0}", "{0}.x or ({1})",
    "## {0}\n\nIn oil.", "the new {1} of the Bank of {0}", "{3}",
)  # fmt: skip
"""How texts contain names: as they are, in lower case, in upper case and without accents."""
QUERIES = (
    "copper lantern", "anchora", "Ilse Brandt", "what did Jurgen Muller write about embery", "K&V meadowz",
    '"was there"', "meadow -copper", "lanterno AND embere", "anch*", "coperi lantrenu", "glow",
    "New York emberu anchor", "team of Tomas Vidal",
)  # fmt: skip
MULTIHOP = ("Who worked with Ilse Brandt at Harbour Light?", "coppero emberi", "Mara Quint")
EXPIRE = "UPDATE stepwell.jobs SET leased_until = now(), run_at = now() WHERE status IN ('running', 'queued')"
OPEN = "SELECT count(*) FROM stepwell.jobs WHERE status IN ('running', 'queued')"
Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A request that can be sent again: a second time it changes nothing, or finds nothing to delete."""

    method: str
    path: str
    content: Any = None


@dataclass
class World:
    """What is to be stored: documents by URI, entities by name, synonyms and files."""

    folder: Path
    documents: dict[str, Document] = field(default_factory=dict)
    entities: dict[str, dict[str, Any]] = field(default_factory=dict)
    synonyms: list[dict[str, Any]] = field(default_factory=list)

    def write(self, path: str, text: str) -> None:
        """Write a file of the source."""
        (self.folder / path).parent.mkdir(exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def rename(self, file: Path, path: str) -> None:
        (self.folder / path).parent.mkdir(exist_ok=True)
        file.rename(self.folder / path)


class Texts:
    """Makes texts of different lengths, so that no two chunks have the same score."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._lengths = list(range(5, 155))
        dice.shuffle(self._lengths)

    def text(self) -> str:
        """A text with names in some form, of a length that the last ones do not have."""
        self._lengths.insert(0, length := self._lengths.pop())
        words = self._dice.choices(WORDS, k=length)
        named = "\n\n".join(self._named() for _ in range(self._dice.randint(0, 2)))
        return f"{' '.join(words)}.\n\n{named}".strip()

    def large(self) -> str:
        """A text that a job stores."""
        text = ""
        while len(text) <= LARGE:
            text += f"# {self._dice.choice(TITLES)}\n\n{self.text()}\n\n"
        return text.strip()

    def _named(self) -> str:
        name = self._dice.choice((*PEOPLE, *TEAMS, *TITLES))
        return self._dice.choice(FORMS).format(name, name.lower(), name.upper(), name.replace("ü", "u"))


class History:
    """Chooses operations and applies them to what is to be stored."""

    def __init__(self, world: World, dice: random.Random) -> None:
        self._world, self._dice, self._texts = world, dice, Texts(dice)
        self._numbers = iter(range(10_000))
        self._kinds = {
            self._add: 6, self._replace: 4, self._patch: 6, self._move: 1, self._delete: 3, self._delete_some: 1,
            self._add_large: 1, self._put_entity: 3, self._change_entity: 2, self._delete_entity: 2,
            self._set_synonyms: 1, self._change_files: 3,
        }  # fmt: skip

    def next(self) -> Callable[[ForkedService], Awaitable[Sequence[Request]]]:
        """A function that returns the requests of the next operation; it may ask the service for ids."""
        (kind,) = self._dice.choices(list(self._kinds), list(self._kinds.values()))
        return kind

    def _document(self, content: str | None = None) -> Document:
        return {
            "content": content or self._texts.text(),
            "title": self._dice.choice(TITLES),
            "language": self._dice.choice(("en", "en", "de", "fr", "pl")),
            "metadata": self._metadata(),
        }

    def _metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = {"year": self._dice.choice((2024, 2025, "2025", ["2025"]))}
        if self._dice.random() < 0.5:
            found["people"] = self._dice.sample(PEOPLE, self._dice.randint(1, 2))
        if self._dice.random() < 0.5:
            found["team"] = self._dice.choice(TEAMS)
        return found

    async def _add(self, _service: ForkedService) -> list[Request]:
        new = {f"d/{next(self._numbers)}": self._document() for _ in range(self._dice.choice((1, 1, 3)))}
        return self._store(new)

    async def _add_large(self, _service: ForkedService) -> list[Request]:
        return self._store({f"large/{next(self._numbers)}": self._document(self._texts.large())})

    async def _replace(self, service: ForkedService) -> list[Request]:
        if (uri := self._any()) is None:
            return []
        body = self._document(self._texts.large() if self._dice.random() < 0.1 else None)
        if self._dice.random() < 0.5:
            return self._store({uri: body})
        self._world.documents[uri] = body
        return [Request("PUT", f"documents/{await document_id(service, uri)}", {"uri": uri, **body})]

    def _store(self, documents: dict[str, Document]) -> list[Request]:
        self._world.documents |= documents
        return [Request("POST", "documents", [{"uri": uri, **body} for uri, body in documents.items()])]

    async def _patch(self, service: ForkedService) -> list[Request]:
        if (uri := self._any()) is None:
            return []
        new = self._document()
        patch = {name: new[name] for name in self._dice.sample(("content", "title", "metadata", "language"), 2)}
        if "metadata" in patch:
            gone = self._dice.choice(("people", "team", "year"))
            patch["metadata"] = {**patch["metadata"], gone: None}
        stored = self._world.documents[uri]
        changed = {**stored, **patch}
        if "metadata" in patch:
            merged = {**stored["metadata"], **patch["metadata"]}
            changed["metadata"] = {key: value for key, value in merged.items() if value is not None}
        self._world.documents[uri] = changed
        return [Request("PATCH", f"documents/{await document_id(service, uri)}", patch)]

    async def _move(self, service: ForkedService) -> list[Request]:
        if (uri := self._any()) is None:
            return []
        new = f"moved/{next(self._numbers)}"
        request = Request("PATCH", f"documents/{await document_id(service, uri)}", {"uri": new})
        self._world.documents[new] = self._world.documents.pop(uri)
        return [request]

    async def _delete(self, service: ForkedService) -> list[Request]:
        if (uri := self._any()) is None:
            return []
        del self._world.documents[uri]
        return [Request("DELETE", f"documents?uri={uri}")]

    async def _delete_some(self, _service: ForkedService) -> list[Request]:
        year, prefix = self._dice.choice((2024, 2025)), self._dice.choice(("d/1", "d/2", "d/3", "moved/", "large/"))
        self._world.documents = {
            uri: body
            for uri, body in self._world.documents.items()
            if not (uri.startswith(prefix) and body["metadata"].get("year") == year)
        }
        return [Request("POST", "documents/delete", {"filters": {"metadata": {"year": year}, "uri_prefix": prefix}})]

    async def _put_entity(self, _service: ForkedService) -> list[Request]:
        kind, names = self._dice.choice(
            (("person", PEOPLE), ("team", TEAMS), ("project", sorted({*TITLES} - {*TEAMS})))
        )
        name = self._dice.choice(names)
        fields: dict[str, Any] = {"type": kind, "name": name}
        if self._dice.random() < 0.5:
            fields["aliases"] = [self._dice.choice(("the warden", "jm", "Kestrel", "glow", "anchorx"))]
        if self._dice.random() < 0.5:
            fields |= {"role": self._dice.choice(("mason", "diver")), "description": self._texts.text()[:80]}
        if self._dice.random() < 0.3:
            fields["facts"] = [f"{name} repaired the {self._dice.choice(WORDS)}."]
        self._world.entities[name] = fields
        return [Request("POST", "entities/bulk", json.dumps(fields))]

    async def _change_entity(self, service: ForkedService) -> list[Request]:
        if not self._world.entities:
            return []
        name = self._dice.choice(list(self._world.entities))
        change = {"aliases": [self._dice.choice(("Kestrel", "meadowe", "the keeper"))], "role": "keeper"}
        self._world.entities[name] |= change
        return [Request("PATCH", f"entities/{await entity_id(service, name)}", change)]

    async def _delete_entity(self, service: ForkedService) -> list[Request]:
        if not self._world.entities:
            return []
        name = self._dice.choice(list(self._world.entities))
        del self._world.entities[name]
        return [Request("DELETE", f"entities/{await entity_id(service, name)}")]

    async def _set_synonyms(self, _service: ForkedService) -> list[Request]:
        terms = self._dice.sample((*WORDS, "glow", "night light"), 4)
        self._world.synonyms = [{"terms": terms[:2]}, {"terms": terms[2:3], "expand_to": terms[3:]}]
        return [Request("PUT", "synonyms", {"groups": self._world.synonyms})]

    async def _change_files(self, _service: ForkedService) -> list[Request]:
        for _ in range(3):
            files = sorted(path for path in self._world.folder.rglob("*") if path.is_file())
            action = self._dice.choice(("write", "change", "rename", "remove")) if files else "write"
            file = self._dice.choice(files) if files else Path()
            if action == "write":
                self._world.write(f"{self._dice.choice('ab')}/{next(self._numbers)}.md", self._texts.text())
            elif action == "change":
                self._world.write(file.relative_to(self._world.folder).as_posix(), self._texts.text())
            elif action == "rename":
                self._world.rename(file, f"{self._dice.choice('abc')}/{next(self._numbers)}.md")
            else:
                file.unlink()
        return [Request("POST", "sources/notes/sync")]

    def _any(self) -> str | None:
        return self._dice.choice(list(self._world.documents)) if self._world.documents else None


async def document_id(service: ForkedService, uri: str) -> str:
    """The id of a document, once it is stored."""
    found: list[Any] = []

    async def there() -> bool:
        found[:] = (await service.client.get(f"{RAG}/documents", params={"uri": uri})).json()["documents"]
        return bool(found)

    await until(there)
    return str(found[0]["document_id"])


async def entity_id(service: ForkedService, name: str) -> str:
    asked = await service.client.get(f"{RAG}/entities", params={"q": name, "origin": "user", "limit": 100})
    return next(str(one["entity_id"]) for one in asked.json()["entities"] if one["name"] == name)


async def send(service: ForkedService, request: Request, *, again: bool = False) -> None:
    """Send a request until it succeeds; a change of a document that a job stores waits for the job.

    What no capability stores is not sent.
    """
    if re.split("[/?]", request.path)[0] not in capability.exports():
        return

    async def succeeds() -> bool:
        body = {"content": request.content} if isinstance(request.content, str) else {"json": request.content}
        headers = {"Content-Type": "application/x-ndjson"} if isinstance(request.content, str) else {}
        response = await service.client.request(request.method, f"{RAG}/{request.path}", headers=headers, **body)
        if response.status_code in (409, 503):
            return False
        is_gone = again and request.method == "DELETE" and response.status_code == 404
        assert response.is_success or is_gone, (request, response.text)
        assert '"refused":1' not in response.text, response.text
        return True

    await until(succeeds)


async def live(service: ForkedService, history: History, dice: random.Random, owner: Any) -> None:
    """Apply operations; the service is killed before some of them, or while they run."""
    kills = set(dice.sample(range(OPERATIONS), KILLS))
    for number in range(OPERATIONS):
        for request in await history.next()(service):
            if number not in kills:
                await send(service, request)
                continue
            kills.remove(number)
            sending = asyncio.create_task(send(service, request))
            await asyncio.wait({sending}, timeout=dice.uniform(0, 0.05))
            await service.kill()
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            await owner.execute(EXPIRE)
            await service.start()
            await send(service, request, again=True)


async def settle(service: ForkedService, owner: Any) -> None:

    async def done() -> bool:
        return int(await owner.fetchval(OPEN)) == 0

    await until(done)
    await send(service, Request("POST", "sources/notes/sync"))
    await until(done)


async def seen(client: httpx.AsyncClient) -> dict[str, Any]:
    """Everything that the service shows, without ids and times."""
    found: dict[str, Any] = {}
    documents = await listed(client, "documents")
    for one in documents:
        whole = (await client.get(f"{RAG}/documents/{one['document_id']}")).json()
        found[f"document {one['uri']}"] = without(whole)
    found["count"] = len(documents)
    for entity in await listed(client, "entities"):
        key = f"entity {entity['type']} {entity['name']} {entity['origin']}"
        found[key] = without(entity, "members")
        found[f"{key} in"] = ordered(await listed(client, f"entities/{entity['entity_id']}/documents", "documents"))
    for name, params in FACETS.items():
        found[name] = (await client.get(f"{RAG}/facets", params=params)).json().get("facets")
    found["stats"] = without((await client.get(f"{RAG}/stats")).json(), "cache", "duplicates")
    for number, query in enumerate(QUERIES):
        for more in SEARCHES if FULL else SEARCHES[number % 4 :: 4]:
            found[f"{query} {more}"] = await answer(client, "search", {"query": query, "limit": 50, **more})
    for query in MULTIHOP:  # not `classic`, whose terms come from the first hits of RRF, which ids order where they tie
        found[f"{query} over hops"] = await answer(client, "search/multihop", {"query": query, "limit": 20})
    return found


FACETS: dict[str, dict[str, Any]] = {
    "facets": {},
    "years": {"key": "year"},
    "people": {"key": "people", "limit": 100},
    "filtered": {"filters": json.dumps({"metadata": {"year": 2025}})},
    "teams of a year": {"key": "team", "filters": json.dumps({"not": {"metadata": {"year": 2024}}})},
}
SEARCHES: tuple[dict[str, Any], ...] = (
    {},
    {"mode": "lexical"},
    {"mode": "semantic", "filters": {"metadata": {"year": 2025}}},
    {"ranking": {"guidance": {"mode": "force"}}, "collapse": "off"},
)


async def listed(client: httpx.AsyncClient, path: str, name: str = "") -> list[Any]:
    """All rows of a list."""
    rows: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        response = await client.get(f"{RAG}/{path}", params={"limit": 100, **cursor})
        assert response.status_code == 200, response.text
        page = response.json()
        rows += page[name or path]
        if not page["next_cursor"]:
            return rows
        cursor = {"cursor": page["next_cursor"]}


async def answer(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    """The answer to a search without case: a name is spelt as where it was found first."""
    response = await client.post(f"{RAG}/{path}", json=body)
    assert response.status_code == 200, response.text
    found = json.loads(response.text.casefold())
    score = "combined_score" if "multihop" in path else "score"
    hits = {(hit["uri"], hit["chunk_index"], hit["content"]): hit[score] for hit in found["results"]}
    return Answered(hits, is_cut=len(hits) == body["limit"])


@dataclass(frozen=True, slots=True)
class Answered:
    """The scores of the hits of an answer.

    Ties go to the smaller id, and ids differ between two databases, so a hit of a leg may have the rank of a hit with
    the same score; scores are compared within TIES. Which of the last hits an answer with the most hits has is open.
    """

    hits: dict[tuple[str, int, str], float]
    is_cut: bool

    def differences(self, other: "Answered") -> list[tuple[tuple[str, int, str], float | None, float | None]]:
        """The hits that another answer does not have, or has with another score: the scores here and there."""
        last = (1 + TIES) * min(self.hits.values(), default=0.0) if self.is_cut else 0.0
        both = [(hit, self.hits.get(hit), other.hits.get(hit)) for hit in {**self.hits, **other.hits}]
        return [
            (hit, ours, theirs)
            for hit, ours, theirs in both
            if max(ours or 0.0, theirs or 0.0) > last
            and (ours is None or theirs is None or not math.isclose(ours, theirs, rel_tol=TIES))
        ]


TIES = 0.03
VARYING = {"document_id", "chunk_id", "source_chunk_id", "entity_id", "source_id", "created_at", "updated_at"}


def without(value: Any, *names: str) -> Any:
    """JSON without ids, times and these fields; numbers are rounded, because sums depend on the order."""
    if isinstance(value, dict):
        return {key: without(inner, *names) for key, inner in value.items() if key not in {*VARYING, *names}}
    if isinstance(value, list):
        return [without(inner, *names) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def ordered(rows: list[Any]) -> list[Any]:
    """Rows without what varies, in an order of their own."""
    return sorted((without(row) for row in rows), key=lambda row: json.dumps(row, sort_keys=True))


async def store_once(service: ForkedService, world: World, dice: random.Random) -> None:
    """Store what is left of a history."""
    documents = [{"uri": uri, **body} for uri, body in world.documents.items()]
    dice.shuffle(documents)
    lines = "\n".join(json.dumps(fields) for fields in world.entities.values())
    requests = [
        Request("POST", "documents", documents),
        Request("POST", "entities/bulk", lines),
        Request("PUT", "synonyms", {"groups": world.synonyms}),
    ]
    dice.shuffle(requests)
    for request in requests:
        if request.content:
            await send(service, request)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "notes"
    made.mkdir()
    return made


@pytest.mark.parametrize("seed", SEEDS)
async def test_what_is_left_of_a_history_with_kills_is_as_if_it_had_been_stored_once(
    seed: int, new_database: Any, template: str, folder: Path
) -> None:
    if FULL:
        faulthandler.cancel_dump_traceback_later()  # it takes longer than other tests may
    dice, world = random.Random(seed), World(folder)
    lived, fresh = await new_database(template), await new_database(template)
    states = []
    for stored in (lived, fresh):
        owner = await stored.connect()
        async with forked_service(stored.service_dsn, folder.parent) as service:
            await send(service, Request("POST", "sources", {"path": str(folder)}))
            if stored is lived:
                await live(service, History(world, dice), dice, owner)
            else:
                await store_once(service, world, dice)
            await settle(service, owner)
            states.append(await seen(service.client))
        await owner.close()
    assert states[0].keys() == states[1].keys()
    for name, value in states[1].items():
        stored = states[0][name]
        if isinstance(value, Answered):
            assert stored.differences(value) == [], name
        else:
            assert stored == value, name
    database = transactions.connect(lived.service_dsn, pool_size=2, pool_wait_s=30)
    checked = await repair.check("local", db=database, keys=metadata_names.KEYS)
    await database.close()
    assert (checked.damage, checked.linked) == (Damage(), states[0]["count"])
