"""Tests of the sentences of an explanation, made of values that the pipeline returns."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from app.api.search import placement_fields, placement_sentences
from app.api.search.placement_models import PlacementAnswer
from app.shapes import (
    Candidate,
    FilterPart,
    LegPlace,
    PassageKey,
    Placement,
    PlacementVerdict,
    QueryChange,
    Remedy,
    StepResult,
)

ID = UUID("e0e5bc55-fb8e-5779-add3-0a16a3709a5c")
CHUNK = Candidate(
    *(ID, ID, None, "Mortar", "mortar.md", "Lime.", 0, 0, 5, (), {"team": "tide"}, 0.5),
    *(None, None, None, None, None, None),
)
FOUND, FAR = LegPlace("vector", True, 7, 100, 0.5, None), LegPlace("text", False, 140, 100, 0.1, 0.2)
FUSED, MOVED = StepResult("fusion", True, 4, 5), StepResult("mmr", False, 9, 5)


def placed(verdict: PlacementVerdict = "outranked", **given: Any) -> Placement:
    return Placement(verdict, PassageKey(uri="mortar.md"), 5, **{"chunk": CHUNK, "rank": 9, **given})


@pytest.mark.parametrize(
    ("placement", "sentence"),
    [
        (placed("not_found"), 'No document "mortar.md" is stored: check it, or add the document.'),
        (placed("returned", rank=2), "It is in the answer: result 2 of up to 5."),
        (
            placed("returned", rank=2, relevance=0.871),
            "It is in the answer: result 2 of up to 5, with a probability of 0.87 of being relevant.",
        ),
        (
            placed(remedy=Remedy((QueryChange("limit", 9),), 9, is_enough=True)),
            "It is number 9 and the limit is 5. Raise limit to 9 to get it.",
        ),
        (
            placed(rank=60),
            "It is number 60 and the limit is 5. Follow next_cursor to result 60, or use more words of the passage.",
        ),
        (
            placed(
                "diversified_out",
                steps=(FUSED, MOVED),
                remedy=Remedy((QueryChange("ranking.mmr", False),), 4, is_enough=True),
            ),
            "Diversification moved it from 4 to 9, beyond the limit of 5. Set ranking.mmr to false to get it.",
        ),
        (
            placed("reranked_out", steps=(FUSED,), remedy=Remedy(is_tried=False)),
            "Re-ranking moved it from 4 to 9, beyond the limit of 5. Changes are not tried with a re-ranking provider.",
        ),
        (
            placed("guided_out", remedy=Remedy((QueryChange("ranking.guidance.mode", "off"),), 3, is_enough=True)),
            "The entities of the query moved it to 9, beyond the limit of 5. "
            'Set ranking.guidance.mode to "off" to get it.',
        ),
        (
            placed("grouped_out", remedy=Remedy((QueryChange("ranking.group", None),), 7)),
            "Its document is in the answer, but other chunks of it rank higher. "
            "Leave out ranking.group; it is then number 7. Follow next_cursor to result 7.",
        ),
        (
            placed("not_a_candidate", rank=None, legs=(FAR,), remedy=Remedy((QueryChange("ranking.candidates", 140),))),
            "It is number 140 by words and is not among the 100 candidates of the text leg. "
            "Raise ranking.candidates to 140, and use more words of the passage in the query.",
        ),
        (
            placed("not_a_candidate", rank=None),
            "No leg of the search could run. Use more words of the passage in the query.",
        ),
        (
            placed(
                "below_threshold",
                steps=(StepResult("min_relevance", False, 0.123456, 0.5),),
                remedy=Remedy((QueryChange("ranking.min_relevance", 0.123456),), 1, is_enough=True),
            ),
            "Its relevance is 0.1235; min_relevance is 0.5. Lower ranking.min_relevance to 0.1234 to get it.",
        ),
        (
            placed(
                "excluded",
                steps=(StepResult("exclude_chunk_ids", False),),
                remedy=Remedy((QueryChange("exclude_chunk_ids", ()), QueryChange("query", "lime")), 1, is_enough=True),
            ),
            'It is among the chunks to leave out. Take it off exclude_chunk_ids and set query to "lime" to get it.',
        ),
        (
            placed("hops_out", steps=(StepResult("depth", False, None, 5),)),
            "The search over several hops did not return it. A single search does: set depth to fast.",
        ),
        (
            placed(
                steps=(StepResult("depth", False, None, 5),),
                remedy=Remedy((QueryChange("limit", 9),), 9, is_enough=True),
            ),
            "The search over several hops did not return it. As a single search (depth fast): "
            "It is number 9 and the limit is 5. Raise limit to 9 to get it.",
        ),
    ],
)
def test_the_summary_names_the_cause_and_the_remedy(placement: Placement, sentence: str) -> None:
    assert placement_sentences.summary(placement) == sentence


@pytest.mark.parametrize(
    ("step", "field", "sentence"),
    [
        (
            StepResult("filter", False, "tide", {"ne": "tide"}, FilterPart("metadata", "team")),
            "filters.metadata.team",
            'Its metadata "team" is "tide"; the filter needs {"ne": "tide"}.',
        ),
        (
            StepResult("filter", False, None, 2026, FilterPart("metadata", "year")),
            "filters.metadata.year",
            'It has no metadata "year"; the filter needs 2026.',
        ),
        (
            StepResult(
                "filter",
                False,
                "2026-01-31",
                datetime(2027, 1, 1, tzinfo=UTC),
                FilterPart("created_after"),
            ),
            "filters.created_after",
            'Its time of creation is "2026-01-31"; filters.created_after needs "2027-01-01T00:00:00+00:00".',
        ),
        (
            StepResult("filter", False, str(ID), (UUID(int=1),), FilterPart("document_ids")),
            "filters.document_ids",
            f'Its document is "{ID}"; filters.document_ids needs ["{UUID(int=1)}"].',
        ),
        (
            StepResult("filter", False, str(ID), tuple(map(UUID, ["0" * 32] * 1_000)), FilterPart("source_ids")),
            "filters.source_ids",
            f'Its source is "{ID}"; filters.source_ids needs one of 1000.',
        ),
        (
            StepResult("filter", False, None, (), FilterPart("negated")),
            "filters.not",
            "Its document does not pass the group filters.not.",
        ),
        (StepResult("excluded_word", False, needed="cement"), "query", 'It contains the excluded "cement".'),
        (
            StepResult("required_word", True, needed="lime"),
            "query",
            'It contains "lime", which the query requires.',
        ),
        (FUSED, "limit", "Fusion of the legs places it at 4."),
        (
            StepResult("rerank", False, 40, 25, reached=False),
            "ranking.rerank",
            "It was not re-ranked: only the first 25 are.",
        ),
        (StepResult("group", False, needed=1), "ranking.group", "More than 2 chunks of its document rank above it."),
        (StepResult("limit", False, 9, 5), "limit", "It is result 9 of an answer of up to 5."),
        (
            StepResult("candidates", True, 7, 100),
            "ranking.candidates",
            "It is number 7 by meaning and is among the 100 candidates of the vector leg. It was added because its "
            "document is linked to an entity of the query.",
        ),
    ],
)
def test_each_step_names_its_field_and_what_it_found(step: StepResult, field: str, sentence: str) -> None:
    placement = placed(legs=(FOUND,), added_by="entity")
    assert placement_fields.of_step(step) == field
    assert placement_sentences.detail(step, placement) == sentence


@pytest.mark.parametrize(
    ("leg", "sentence"),
    [
        (LegPlace("text", False, None, 9, None, None, words=()), "It shares no word with the query."),
        (
            LegPlace("text", False, None, 9, None, None, words=("a", "b")),
            "It shares only a, b with the query, too frequent to find it by.",
        ),
        (
            LegPlace("vector", False, 3, 9, 0.5, None, exact=False),
            "It is at best number 3 by meaning, but the approximate search of the vector index missed it.",
        ),
    ],
)
def test_a_leg_that_lacks_the_passage_says_why(leg: LegPlace, sentence: str) -> None:
    placement = placed("not_a_candidate", rank=None, legs=(leg,))
    assert placement_sentences.summary(placement).startswith(sentence)


def test_an_answer_of_several_hops_can_be_changed_to_a_single_search_first() -> None:
    missed = (StepResult("depth", False, None, 5),)
    answer = PlacementAnswer.of(placed(steps=missed, remedy=Remedy((QueryChange("limit", 9),), 9, is_enough=True)))
    assert [(one.field, one.value) for one in answer.changes] == [("depth", "fast"), ("limit", 9)]
    assert (answer.rank_after, answer.steps[0].field) == (9, "depth")
