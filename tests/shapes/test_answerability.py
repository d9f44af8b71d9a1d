"""An answer is called unlikely below a limit, and not if nothing is known of it."""

from __future__ import annotations

from app.shapes import answerability


def test_an_answer_is_unlikely_below_the_limit_only() -> None:
    assert answerability.is_unlikely(0.0)
    assert answerability.is_unlikely(answerability.POSSIBLE - 1e-6)
    assert not answerability.is_unlikely(answerability.POSSIBLE)
    assert not answerability.is_unlikely(None)
