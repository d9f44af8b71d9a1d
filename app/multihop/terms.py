"""Selects the terms with which the next hop expands a query, and filters those that a language model proposed.

Statistical terms are names and rare words, ranked by idf. A term that a language model proposed is used only if it is
plain search text and occurs in the passages, because passages are untrusted and may contain instructions to the model.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from app.text.names import names

MAX_TERMS = 5
MAX_TERM_LENGTH = 80
MAX_QUESTIONS, MAX_QUESTION_LENGTH = 2, 200
NAME_BONUS = 2.0
_WORD = re.compile(r"[^\W\d_]{4,40}")
_UNUSABLE = re.compile(
    r"^[+-]|[^\w\s.,'’&()/+#-]|https?:|www\.|//|--|@|[\w-]+\.(?:com|org|net|io|dev|ru|cn|info|xyz)\b", re.IGNORECASE
)


def statistical(passages: Sequence[str], query: str, *, chunks: Mapping[str, int], total: int) -> list[str]:
    """Returns up to MAX_TERMS names and rare words of the passages that the query lacks, the rarest first.

    `chunks` maps the key of a name to the number of chunks, of `total`, that contain it. A lower-case word counts if it
    occurs at least twice.
    """
    query_keys = names.sequences(query)
    found: dict[str, tuple[float, str]] = {}
    for passage in passages:
        for name in names.find(passage):
            if name.key not in query_keys:
                weight = NAME_BONUS + _idf(chunks.get(name.key, 1), total)
                found[name.key] = max(found.get(name.key, (0.0, "")), (weight, name.text))
    counts = Counter(word for passage in passages for word in _WORD.findall(passage.casefold()))
    for word, count in counts.items():
        if count > 1 and word not in query_keys and names.is_distinctive([word]):
            found.setdefault(word, (math.log(1 + count), word))
    ranked = sorted(found.values(), key=lambda pair: (-pair[0], pair[1]))
    return distinct(text for _weight, text in ranked)


def usable_questions(proposed: Sequence[object], query: str) -> list[str]:
    """Returns the first MAX_QUESTIONS proposed questions that are printable text of at most MAX_QUESTION_LENGTH."""
    kept = []
    for question in proposed:
        text = " ".join(question.split()) if isinstance(question, str) else ""
        if text and len(text) <= MAX_QUESTION_LENGTH and text.isprintable() and names.words(text) != names.words(query):
            kept.append(text)
    return list(dict.fromkeys(kept))[:MAX_QUESTIONS]


def _idf(df: int, total: int) -> float:
    return math.log(1 + (max(total, df) - df + 0.5) / (df + 0.5))


def distinct(terms: Iterable[str]) -> list[str]:
    """Returns the first MAX_TERMS terms, without those whose words an earlier one contains."""
    kept: dict[str, str] = {}
    for term in terms:
        words = names.words(term)
        spaced = names.space(words)
        if words and not any(spaced in other for other in kept):
            kept[spaced] = term
            if len(kept) == MAX_TERMS:
                break
    return list(kept.values())


def usable(proposed: object, passages: Sequence[str], query: str) -> list[str]:
    """Returns the proposed terms that are short printable text and occur in the passages but not in the query.

    Other values, of any type, are dropped.
    """
    if not isinstance(proposed, list):
        return []
    texts = [names.space(names.words(passage)) for passage in passages]
    question = names.space(names.words(query))
    kept = []
    for term in proposed[: 4 * MAX_TERMS]:
        if not isinstance(term, str) or not 2 <= len(term.strip()) <= MAX_TERM_LENGTH:
            continue
        term = " ".join(term.split())
        key = names.key(term)
        if not term.isprintable() or _UNUSABLE.search(term) or key is None:
            continue
        spaced = names.space([key])
        if spaced not in question and any(spaced in text for text in texts):
            kept.append(term)
    return distinct(kept)
