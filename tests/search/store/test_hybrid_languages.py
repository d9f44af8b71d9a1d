"""The weights of the legs follow from the language of the documents that contain the words of a query."""

from __future__ import annotations

import hybrid
import pytest
from query_vectors import angled, at

from app.query.types import LanguageWeights, Weights

USUAL, UNREAD, FOREIGN = Weights(0.4, 0.6), Weights(0.1, 0.9), Weights(0.8, 0.2)
ENGLISH = LanguageWeights(frozenset({"english"}), 0.65, UNREAD, FOREIGN)
SPANISH = "El puerto cierra cuando la niebla cubre el faro"
ENGLISH_TEXT = "The harbour closes when fog hides the lighthouse"


@pytest.fixture
async def shelf(put) -> None:
    await put(SPANISH, embedded=[angled(0.2)], config="spanish")
    await put(ENGLISH_TEXT, embedded=[angled(0.9)], config="english")


@pytest.mark.parametrize(
    ("query", "weights"),
    [
        ("¿Cuándo cierra el puerto?", UNREAD),
        ("puerto niebla faro", UNREAD),
        ("When does the harbour close?", USUAL),
        ("Wann wird der Hafen geschlossen?", FOREIGN),
        ("puerto niebla faro Hafen", UNREAD),
        ("puerto niebla Hafen Leuchtturm", FOREIGN),
    ],
)
async def test_weights_follow_from_the_documents_with_the_words(find, shelf, query: str, weights: Weights) -> None:
    found = await find(query, at(1), fusion="convex", weights=(0.4, 0.6), by_language=ENGLISH)
    assert found.weights == weights
    for candidate in found.candidates:
        fused = weights.vector * candidate.vector_scaled + weights.text * candidate.text_scaled
        assert candidate.score == pytest.approx(fused, abs=1e-6)


async def test_the_weights_of_a_request_hold_without_a_language(find, put) -> None:
    found = await find("harbour", at(1), weights=(0.4, 0.6), by_language=ENGLISH)
    assert (found.weights, found.candidates) == (USUAL, ())
    await put(SPANISH, config="spanish")
    assert (await find("puerto", at(1), weights=(0.4, 0.6))).weights == USUAL


async def test_a_leg_that_is_not_wanted_does_not_run_in_any_language(find, shelf) -> None:
    found = await find("puerto niebla", at(1), weights=(0.0, 1.0), by_language=ENGLISH)
    assert (hybrid.contents(found), found.vector_found, found.weights) == ([SPANISH], 0, Weights(0.0, 1.0))
