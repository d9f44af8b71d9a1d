"""The conditions of Boolean expressions are met by every hit: compared with an evaluator over the stored texts."""

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import harness
import pytest
from harness import Tenant, uris

from app.database.transactions import Database
from app.documents.types import Upload

WORDS = ("lime", "limestone", "cement", "mortar", "tide", "kiln", "sand", "quartz")
"""Words of which no two have a stem in common, and that begin like their stems."""
STORED = """
SELECT d.uri, d.title, c.heading_path, c.content
FROM stepwell.chunks AS c JOIN stepwell.documents AS d USING (user_id, document_id)
WHERE c.user_id = $1
"""

Node = tuple[Any, ...]
"""("word", text, field), ("phrase", text, field), ("prefix", text, field), ("not", node), ("and" or "or", *nodes)."""


@dataclass(frozen=True, slots=True)
class Text:
    """A stored chunk with its words by field."""

    uri: str
    title: Sequence[str]
    headings: Sequence[Sequence[str]]
    content: Sequence[str]

    def fields(self, name: str | None) -> Sequence[Sequence[str]]:
        if name is None:
            return [self.title, *self.headings, self.content]
        return [self.title] if name == "title" else self.headings


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _meets(text: Text, node: Node) -> bool:
    kind = node[0]
    if kind == "not":
        return not _meets(text, node[1])
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(_meets(text, part) for part in node[1:])
    sequences = text.fields(node[2])
    if kind == "prefix":
        return any(word.startswith(node[1]) for words in sequences for word in words)
    wanted = node[1].split()
    return any(words[at : at + len(wanted)] == wanted for words in map(list, sequences) for at in range(len(words)))


def _written(node: Node) -> str:
    kind = node[0]
    if kind == "not":
        return f"NOT {_written(node[1])}"
    if kind in ("and", "or"):
        return f"({f' {kind.upper()} '.join(map(_written, node[1:]))})"
    text = {"word": node[1], "phrase": f'"{node[1]}"', "prefix": f"{node[1]}*"}[kind]
    return f"{node[2]}:{text}" if node[2] else text


def _leaf(dice: random.Random) -> Node:
    field = dice.choice((None, None, None, "title", "heading"))
    kind = dice.choice(("word", "word", "word", "phrase", "prefix"))
    if kind == "phrase":
        return (kind, " ".join(dice.choices(WORDS, k=2)), field)
    return (kind, dice.choice(WORDS) if kind == "word" else dice.choice(("lim", "lime", "mo", "qua")), field)


def _expression(dice: random.Random, depth: int) -> Node:
    def part() -> Node:
        node = _expression(dice, depth - 1) if depth > 1 and dice.random() < 0.4 else _leaf(dice)
        return ("not", node) if dice.random() < 0.2 else node

    return (dice.choice(("and", "or")), *(part() for _ in range(dice.randint(2, 3))))


@pytest.fixture(scope="module")
async def quarry(database: Database) -> Tenant:
    """Forty notes in two text-search configurations, with titles and headings of the same words as their texts."""
    dice, notes = random.Random(9), []
    for number in range(40):
        heading, title = (" ".join(dice.choices(WORDS, k=dice.randint(1, 2))) for _ in range(2))
        body = " ".join(dice.choices(WORDS, k=dice.randint(2, 5)))
        language = dice.choice(("en", "zh"))
        shown = title if dice.random() < 0.3 else heading
        notes.append(Upload(f"# {shown}\n\n{body}\n", uri=f"note{number}", title=title, language=language))
    tenant = Tenant(database)
    await tenant.add_all(notes)
    return tenant


async def _texts(owner: asyncpg.Connection, tenant: Tenant) -> list[Text]:
    rows = await owner.fetch(STORED, tenant.user_id)
    found = []
    for row in rows:
        headings = list(map(_words, row["heading_path"]))
        found.append(Text(row["uri"], _words(row["title"]), headings, _words(row["content"])))
    return found


async def test_hits_are_the_texts_that_meet_the_expression(quarry: Tenant, owner: asyncpg.Connection) -> None:
    texts = await _texts(owner, quarry)
    assert len(texts) == 40
    assert all(text.headings for text in texts)
    dice, sizes = random.Random(3), set()
    for _ in range(80):
        node = _expression(dice, 3)
        query = f"{_written(node)} {dice.choice(WORDS)}"
        expected = sorted(text.uri for text in texts if _meets(text, node))
        answer = await quarry.ask(query, mode=dice.choice(("auto", "hybrid", "semantic")), limit=50)
        sizes.add(len(expected))
        if expected:
            assert (query, sorted(map(str, uris(answer))), answer.relaxed) == (query, expected, ())
        else:
            assert (query, answer.relaxed[:1]) == (query, ("constraints_dropped",))
    assert len(sizes) > 10


SHELF = {
    "putty": ("Lime putty", "The slaked lime is kept in the thermal shed."),
    "mix": ("Mortar mix", "Cement with sand, fast drying, and some lime."),
    "settings": ("Settings", "The configuration of the gauge, and a ferry."),
    "brisa": ("Brisa", "A ferry called Brisa carries confetti."),
}


shelf = harness.stored(Upload(text, uri=uri, title=title) for uri, (title, text) in SHELF.items())


async def test_what_an_expression_excludes_stays_excluded_when_its_conditions_are_dropped(shelf: Tenant) -> None:
    answer = await shelf.ask("lime AND (nothing OR nowhere) NOT title:mor*", limit=20)
    assert answer.relaxed == ("constraints_dropped",)
    assert "mix" not in uris(answer)


async def test_words_that_begin_with_a_prefix_are_scored_and_highlighted(shelf: Tenant) -> None:
    answer = await shelf.ask("conf*", mode="lexical", detail="compact", explain=True)
    assert set(uris(answer)) == {"settings", "brisa"}
    shown = {
        hit.candidate.uri: [hit.candidate.content[match.start : match.end] for match in hit.snippet.matches]
        for hit in answer.hits
        if hit.snippet
    }
    assert shown == {"settings": ["configuration"], "brisa": ["confetti"]}


async def test_single_characters_of_titles_without_spaces_are_found_by_their_field(tenant: Tenant) -> None:
    await tenant.add("黒い犬がいる", "title", title="猫の本")
    await tenant.add("黒い猫がいる", "text", title="犬の本")
    assert uris(await tenant.ask("title:猫")) == ["title"]
    assert set(uris(await tenant.ask("猫*"))) == {"title", "text"}
