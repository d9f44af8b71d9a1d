"""What a GET returns is accepted by a PUT and a PATCH, and changes nothing."""

import bisect
import json
import random
from decimal import Decimal
from typing import Any

import pytest
from api_caller import Caller
from example_app import assert_problem
from pydantic_core import PydanticCustomError

from app.requests import field_types

DOCUMENTS, ENTITIES = "/api/rag/documents", "/api/rag/entities"
GIVEN = ("content", "title", "uri", "metadata", "created_at")
STRINGS = [
    *("", " ", "lime", "größe", "1e300", " 2026-01-31", 'a"b\\c'),
    *("\u2028", "\U0001f600", "e\u0301", "\u200b", "\x7f"),
]
LIMIT = 64 * 1024


@pytest.mark.parametrize("seed", range(6))
async def test_any_metadata_is_accepted_as_it_is_read(caller: Caller, seed: int) -> None:
    dice = random.Random(seed)
    metadata = ", ".join(f"{json.dumps(f'key {place}')}: {_written(dice, depth=4)}" for place in range(60))
    body = f'{{"content": "Lime.", "uri": "lime", "metadata": {{{metadata}}}}}'
    added = await caller.client.post(DOCUMENTS, content=body, headers={"Content-Type": "application/json"})
    assert added.status_code == 201, added.text
    path = f"{DOCUMENTS}/{added.json()['document_id']}"
    got = await caller.client.get(path)
    assert _decimals(got.text)["metadata"] == _decimals(metadata.join("{}"))
    read = got.json()

    again = await caller.client.post(DOCUMENTS, json={"content": "Lime.", "uri": "lime", "metadata": read["metadata"]})
    assert (again.status_code, again.json()["status"]) == (200, "unchanged"), again.text
    for method in ("PUT", "PATCH"):
        sent = await caller.client.request(method, path, json={name: read[name] for name in GIVEN})
        assert sent.status_code == 200, sent.text
        assert _undated((await caller.client.get(path)).json()) == _undated(read)


@pytest.mark.parametrize("number", ["1e16", "-10000000000000000.0", "1e19", "1e300"])
async def test_metadata_of_the_largest_size_is_accepted_as_it_is_read(caller: Caller, number: str) -> None:
    most = bisect.bisect(range(1, LIMIT), 0, key=lambda many: 0 if _fits(number, many) else 1)
    assert most > LIMIT / 25
    numbers = ", ".join([number] * most)
    body = f'{{"content": "Lime.", "uri": "lime", "metadata": {{"n": [{numbers}]}}}}'
    added = await caller.client.post(DOCUMENTS, content=body, headers={"Content-Type": "application/json"})
    assert added.status_code == 201, added.text
    path = f"{DOCUMENTS}/{added.json()['document_id']}"
    read = (await caller.client.get(path)).json()["metadata"]
    assert len(read["n"]) == most
    assert (await caller.client.put(path, json={"content": "Lime.", "metadata": read})).status_code == 200
    more = await caller.client.put(path, json={"content": "Lime.", "metadata": {"n": [*read["n"], read["n"][0]]}})
    assert_problem(more, 422, "too_large", "metadata")


def _fits(number: str, many: int) -> bool:
    try:
        field_types.check_metadata({"n": [float(number)] * many})
    except PydanticCustomError:
        return False
    return True


@pytest.mark.parametrize(
    ("name", "text", "metadata"),
    [
        ("keys.md", "---\n" + "".join(f"k{place}: 1\n" for place in range(1_001)) + "---\nLime.", {}),
        ("deep.md", "---\nk: " + "[" * 32 + "]" * 32 + "\n---\nLime.", {}),
        ("aliases.md", f"---\na: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 8)}]\n---\nLime.", {}),
        ("long.md", f"---\na: {'x' * 40_000}\n---\nLime.", {"b": "y" * 40_000}),
        ("columns.csv", ",".join(f"c{place}" for place in range(1_100)) + ",text\n" + "1," * 1_100 + "Lime.", {}),
    ],
)
async def test_metadata_of_a_file_is_accepted_as_it_is_read(caller, name, text, metadata) -> None:
    form = {"metadata": json.dumps(metadata)}
    added = await caller.client.post(DOCUMENTS, files={"files": (name, text)}, data=form)
    assert added.status_code == 201, added.text
    (stored,) = added.json()["documents"]
    path = f"{DOCUMENTS}/{stored['document_id']}"
    read = (await caller.client.get(path)).json()
    assert metadata.items() <= read["metadata"].items()
    assert any("left out" in warning or "kept as text" in warning for warning in stored["warnings"])
    sent = await caller.client.put(path, json={field: read[field] for field in GIVEN})
    assert sent.status_code == 200, sent.text


async def test_an_entity_is_accepted_as_it_is_read(caller: Caller) -> None:
    dice = random.Random(1)
    metadata = ", ".join(f"{json.dumps(f'key {place}')}: {_written(dice, depth=3)}" for place in range(60))
    body = f'{{"type": "team", "name": "Masons", "metadata": {{{metadata}}}}}'
    added = await caller.client.post(ENTITIES, content=body, headers={"Content-Type": "application/json"})
    assert added.status_code == 201, added.text
    got = await caller.client.get(f"{ENTITIES}/{added.json()['entity_id']}")
    assert _decimals(got.text)["metadata"] == _decimals(metadata.join("{}"))
    read = got.json()
    changed = await caller.client.patch(f"{ENTITIES}/{read['entity_id']}", json={"metadata": read["metadata"]})
    assert changed.status_code == 200, changed.text


def _decimals(text: str) -> Any:
    """JSON whose numbers have the value of their digits, which for a float are the fewest that tell it apart."""
    return json.loads(text, parse_int=Decimal, parse_float=lambda digits: Decimal(repr(float(digits))))


def _undated(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "updated_at"}


def _written(dice: random.Random, *, depth: int) -> str:
    """A JSON text. Null is no member of an object, because a merge patch would remove the member."""
    shape = dice.random()
    if shape < 0.7 or not depth:
        return _number(dice) if shape < 0.5 else json.dumps(dice.choice([*STRINGS, True, False]))
    if shape < 0.85:
        return f"[{', '.join([*(_written(dice, depth=depth - 1) for _ in range(dice.randint(0, 3))), 'null'])}]"
    members = (f"{json.dumps(name)}: {_written(dice, depth=depth - 1)}" for name in dice.sample(STRINGS, 2))
    return f"{{{', '.join(members)}}}"


def _number(dice: random.Random) -> str:
    """A number that a request may have: a whole one of 64 bits, or a float in one of its spellings."""
    if dice.random() < 0.3:
        return str(dice.choice([0, 2**63 - 1, -(2**63), 2**53 + 1, 10**16, dice.randint(-(2**63), 2**63 - 1)]))
    digits = str(dice.choice([0, dice.randrange(10 ** dice.randint(1, 20))]))
    fraction = f".{dice.randrange(10**6)}" * dice.randint(0, 1)
    if dice.random() < 0.3:
        return f"{dice.choice(['', '-'])}{digits}.{dice.choice(['0', '5', digits])}"
    exponent = dice.choice([0, 1, 15, 16, 17, 18, 19, 22, dice.randint(0, 280)])
    return f"{dice.choice(['', '-'])}{digits}{fraction}{dice.choice('eE')}{dice.choice(['', '+', '-'])}{exponent}"
