"""Tests of trimming results to a number of tokens, and of what they advise."""

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.agents import tool_results
from app.agents.tool_results import PassageList, ToolPassage
from app.query.search_types import Answer, Candidate, Hit
from app.relevance import answerable_levels
from app.text.words import tokens

WORDS = st.lists(st.text("abcdefghij", min_size=1, max_size=14), min_size=1, max_size=120)


def passage(text: str) -> ToolPassage:
    return ToolPassage(chunk_id=UUID(int=1), document_id=UUID(int=2), title="Lime", start=0, content=text)


def size(passages: list[ToolPassage]) -> int:
    return sum(tokens.count(tool_results.text(one.compact())) for one in passages)


@given(WORDS, st.integers(1, 60))
def test_a_text_is_cut_between_two_words(words: list[str], limit: int) -> None:
    text = " ".join(words)
    beginning = text[: tool_results.cut(text, limit)]
    assert text.startswith(beginning)
    if " " in beginning.strip():
        assert beginning.split() == words[: len(beginning.split())]
    if beginning != text:
        assert tokens.count(beginning) <= limit


def test_a_text_without_spaces_is_cut_after_the_last_token_that_fits() -> None:
    text = "茶" * 50
    assert text[: tool_results.cut(text, 10)] == "茶" * 10


def test_a_text_with_a_blank_far_before_the_limit_is_not_cut_there() -> None:
    """As below a heading in Chinese, Japanese or Thai."""
    text = "# 茶\n" + "茶" * 50
    assert text[: tool_results.cut(text, 42)] == "# 茶\n" + "茶" * 40
    (kept,) = tool_results.fit([passage("# 茶\n" + "茶" * 500)], 300)
    assert tokens.count(kept.content) > 200


@given(st.lists(WORDS, min_size=1, max_size=8), st.integers(100, 600))
def test_the_first_passages_are_kept_and_fit(texts: list[list[str]], limit: int) -> None:
    passages = [passage(" ".join(words)) for words in texts]
    kept = tool_results.fit(passages, limit)
    whole = [one for one in kept if not one.cut]
    assert whole == passages[: len(whole)]
    assert len(kept) - len(whole) <= 1
    assert size(kept) <= limit + 10


def test_the_best_passage_is_returned_even_if_it_must_be_cut() -> None:
    (kept,) = tool_results.fit([passage("lime mortar " * 500)], 100)
    assert kept.cut
    assert kept.content.endswith("lime …") or kept.content.endswith("mortar …")


@pytest.mark.parametrize("content", ["Yes", "Yes, lime", "Yes, lime mortar sets slowly, and hardens for years."])
def test_a_short_best_passage_whose_title_alone_is_longer_is_returned(content: str) -> None:
    long_title = passage(content).model_copy(update={"title": " ".join(f"q{number}z" for number in range(110))})
    (kept,) = tool_results.fit([long_title], 100)
    assert (kept.content, kept.cut) == (("Yes", None) if content == "Yes" else ("Yes …", True))


CANDIDATE = Candidate(UUID(int=1), UUID(int=2), None, "Lime", "lime.md", "lime mortar", 0, 0, 11, (), {}, None, 0.5)
HIT = Hit(CANDIDATE, "low", ())
FOUND = Answer(
    (HIT,), "low", strategies_matched=(), query_type=None, mode="auto", fusion=None, search_mode="flat",
    fallback_reason=None, approximate=False, degraded=(), relaxed=(), timings={},
)  # fmt: skip


@pytest.mark.parametrize(
    ("answerable", "is_advised"), [(None, False), (0.0, True), (answerable_levels.DOUBTFUL, False), (0.9, False)]
)
def test_only_a_result_without_a_likely_answer_has_advice(answerable: float | None, is_advised: bool) -> None:
    found = PassageList.of(replace(FOUND, answerable=answerable), {}, max_tokens=500)
    assert ("advice" in found.compact()) == is_advised
    empty = PassageList.of(replace(FOUND, answerable=answerable, hits=()), {}, max_tokens=500)
    assert "advice" not in empty.compact()


def test_a_title_that_the_uri_tells_is_left_out_and_few_duplicates_are_named() -> None:
    titles = (("Mara Veit", "mara-veit.md", None), ("veit.md", "veit.md", None), ("Mara Veit", "veit.md", "Mara Veit"))
    for title, name, shown in titles:
        named = CANDIDATE._replace(title=title, uri=f"a/{name}")
        assert ToolPassage.of(HIT._replace(candidate=named)).title == shown
    others = tuple(CANDIDATE._replace(document_id=UUID(int=n), uri=f"copy-{n}.md") for n in range(3, 9))
    passage = ToolPassage.of(HIT._replace(duplicates=others))
    assert (passage.duplicates, passage.duplicate_uris) == (6, ["copy-3.md", "copy-4.md", "copy-5.md"])
