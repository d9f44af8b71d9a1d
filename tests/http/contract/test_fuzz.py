"""Fuzzes every operation with valid and invalid requests generated from the OpenAPI document.

schemathesis draws requests from the OpenAPI document, sound ones and ones with a flaw; a real server on a socket, with
real Postgres behind it, answers them. The cases are the same in every run. With STEPWELL_FUZZ_CASES=10000 in the
environment (`make fuzz`) there are so many of them, and others each time.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest
from hypothesis import HealthCheck
from hypothesis import strategies as st
from openapi_operations import OPERATIONS

if TYPE_CHECKING:
    from fuzzing import Door

OWN_DATABASE = True
"""A database of its own, whose only user is the local one."""

WANTED = int(os.environ.get("STEPWELL_FUZZ_CASES", "0"))
CASES = WANTED or 160
WITH_INPUT = [
    name
    for name, (_method, _path, operation) in OPERATIONS.items()
    if "requestBody" in operation or operation.get("parameters")
]
SHARE = math.ceil(CASES / (2 * len(WITH_INPUT)))


def _cases(most: int) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=most,
        derandomize=not WANTED,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=(hypothesis.Phase.generate,),
    )


@pytest.fixture(scope="module")
def door(address: Any) -> Iterator[Door]:
    """The service."""
    from fuzzing import Door  # imported here because schemathesis takes a second, in each process of the suite

    made = Door(address.service_dsn)
    made.begin()
    yield made
    costliest = made.stop()
    print(f"\n{made.tally.total():,} cases: {dict(sorted(made.tally.items()))}")
    print(f"costliest turn of the event loop: {costliest['ms']:.0f} ms\n{costliest['stack']}")


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_request_made_from_the_description_breaks_the_service(door: Door, name: str) -> None:
    from fuzzing import draw

    known = st.none() | st.fixed_dictionaries({name: st.sampled_from(ids) for name, ids in door.known.items()})
    chunk = st.none() | st.sampled_from(door.known["chunk_id"])

    for mode in ("positive", "negative") if name in WITH_INPUT else ("positive",):

        @_cases(SHARE)
        @hypothesis.given(draw(name, mode), known, chunk)
        def asked(case: Any, ids: dict[str, str] | None, chunk_id: str | None) -> None:
            for name in (ids or {}).keys() & (case.path_parameters or {}).keys():
                case.path_parameters[name] = ids[name]
            if chunk_id and isinstance(case.body, dict) and "chunk_id" in case.body:
                case.body = {**case.body, "chunk_id": chunk_id}
            door.check(case)

        asked()


_TEXT = st.text(st.characters(codec=None), max_size=60)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
)
_COORDINATES = st.sampled_from([5e-324, -1e-45, 1e-38, 3e38, -0.0, 0.5, 1, -1])
_BODIES: dict[str, Callable[..., st.SearchStrategy[Any]]] = {
    "search": lambda: st.fixed_dictionaries({"query": _TEXT}, optional={"filters": st.just({}) | _filters()}),
    "similar": lambda: st.fixed_dictionaries({"vector": st.lists(_COORDINATES, min_size=384, max_size=384)}),
    "documents": lambda: st.fixed_dictionaries(
        {"content": _TEXT}, optional={"title": _TEXT, "uri": _TEXT, "language": _TEXT, "metadata": _VALUES}
    ),
    "entities": lambda: st.fixed_dictionaries(
        {"type": st.just("person"), "name": _TEXT},
        optional={"aliases": st.lists(_TEXT, max_size=3), "facts": st.lists(_TEXT, max_size=3), "role": _TEXT},
    ),
}


def _filters() -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"metadata": st.dictionaries(_TEXT, _VALUES, max_size=4)})


@pytest.mark.parametrize("name", _BODIES)
def test_no_text_or_number_that_json_can_write_breaks_the_service(door: Door, name: str) -> None:
    """NUL, halves of surrogate pairs, NaN and infinities among them, which no schema can describe."""
    from fuzzing import judge

    @_cases(SHARE)
    @hypothesis.given(_BODIES[name]() | _VALUES)
    def sent(body: object) -> None:
        headers = {"Content-Type": "application/json"}
        answered = door.session.post(f"{door.address}/api/rag/{name}", data=json.dumps(body), headers=headers)
        door.tally[answered.status_code] += 1
        assert answered.status_code < 500, answered.text
        judge(answered)

    sent()
