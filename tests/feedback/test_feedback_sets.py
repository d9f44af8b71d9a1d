"""Feedback as the questions of an evaluation set."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from app.feedback import feedback
from app.feedback.types import GivenFeedback


def test_feedback_is_grouped_by_query_and_a_helpful_passage_makes_its_document_relevant() -> None:
    def said(query: str, document: int, helpful: bool, uri: str | None) -> GivenFeedback:
        at = datetime(2026, 1, 1, tzinfo=UTC)
        return GivenFeedback(query, helpful, UUID(int=document), UUID(int=9), uri, "Title", at)

    given = [said("a", 1, False, "x"), said("b", 1, False, "x"), said("a", 1, True, "x"), said("a", 2, False, None)]
    grouped = feedback.group(given)
    assert [(one.text, one.relevant) for one in grouped] == [
        ("a", {"x": 1, str(UUID(int=2)): 0}),
        ("b", {"x": 0}),
    ]
    assert grouped[0].query_id == feedback.group(given[:1])[0].query_id
