"""Single characters of scripts without spaces are indexed beside the pairs, and change nothing else."""

import random
import unicodedata

import bm25s
import hybrid
import numpy as np
import oracle
import pytest
from query_vectors import at

from app.text.words import tsvector_text

LEXEMES = "SELECT tsvector_to_array(stepwell.with_characters(to_tsvector(CAST($1 AS regconfig), $2)))"
SAME = "SELECT stepwell.with_characters(w) = w FROM to_tsvector(CAST($1 AS regconfig), $2) AS w"
ZOO = ["黒い猫がいる", "猫", "犬と猫と猫", "お茶を飲む", "図書館で本を読む", "the library is closed"]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("猫", {"黒い猫がいる", "猫", "犬と猫と猫"}),
        ("茶", {"お茶を飲む"}),
        ("書", {"図書館で本を読む"}),
        ("館", {"図書館で本を読む"}),
        ("+猫 犬", {"犬と猫と猫"}),
    ],
)
async def test_a_word_of_one_character_matches_inside_words(put, find, word, expected) -> None:
    await put(*ZOO)
    strict = [part[1:] for part in word.split() if part.startswith("+")]
    assert set(hybrid.contents(await find(word.replace("+", ""), strict=[*strict, *word.split()[1:]]))) == expected


async def test_an_excluded_character_excludes_the_words_that_contain_it(put, find) -> None:
    await put(*ZOO)
    found = await find(None, at(1), excluded=["猫"])
    assert set(hybrid.contents(found)) == {"お茶を飲む", "図書館で本を読む", "the library is closed"}


async def test_a_character_is_scored_by_its_frequency_and_the_length_in_pairs(put, find, owner, user) -> None:
    await put(*ZOO)
    corpus = await oracle.corpus(owner, user)
    found = await find("猫")
    assert {c.chunk_id: c.text_score for c in found.candidates} == pytest.approx(corpus.bm25(["猫"]), rel=1e-5)
    of = {row.content: row for row in corpus.rows}
    assert of["犬と猫と猫"].frequencies["猫"] == 2
    assert of["黒い猫がいる"].frequencies["猫"] == 1
    assert [of[text].length for text in ZOO] == [
        len(tsvector_text.index_text(text, "simple").split()) for text in ZOO[:5]
    ] + [2]


async def test_words_of_several_characters_score_as_over_pairs_alone(put, find, user) -> None:
    """The reference is an independent BM25 that never saw a single character of a longer run."""
    texts = [f"{'日本語の文法' * (n % 3 + 1)}と{'東京の天気' * (n % 4)}。第{n}章" for n in range(40)]
    await put(*texts)
    lexemes = [tsvector_text.index_text(text, "english").split() for text in texts]
    reference = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    reference.index(lexemes, show_progress=False)
    for query in ("日本語", "東京の天気", "文法 天気"):
        words = tsvector_text.index_text(query, "english").split()
        expected = dict(zip(texts, 2.2 * np.array(reference.get_scores(words)), strict=True))
        found = await find(query, limit=50)
        assert {term.lexeme for term in found.terms} == set(words)
        for candidate in found.candidates:
            assert candidate.text_score == pytest.approx(expected[candidate.content], abs=1e-4)


def _runs_of(units: list[str], dice: random.Random) -> str:
    return " ".join("".join(dice.choices(units, k=dice.randint(1, 5))) for _ in range(dice.randint(1, 6)))


@pytest.mark.parametrize("config", ["english", "simple", "french"])
async def test_the_database_adds_the_characters_of_each_run(owner, config) -> None:
    units = ["猫", "犬", "が", "パ", "々", "한", "국", "ท", "ที่", "ู".join("ทก"), "ខ្", "ញុំ", "x", "9", "。"]
    dice = random.Random(3)
    for _ in range(100):
        indexed = tsvector_text.index_text(_runs_of(units, dice), config)
        words = indexed.split()
        pairs = [split for word in words if len(split := _split(word)) == 2 and not word[0].isascii()]
        lexemes = await owner.fetchval(LEXEMES, config, indexed)
        assert set(lexemes) == {unit for pair in pairs for unit in pair} | set(words), indexed


def _split(word: str) -> list[str]:
    """The characters of a word with their combining marks."""
    found: list[str] = []
    for character in word:
        if found and unicodedata.category(character).startswith("M"):
            found[-1] += character
        else:
            found.append(character)
    return found


async def test_vectors_of_texts_in_scripts_with_spaces_stay_as_they_are(owner) -> None:
    alphabet = [chr(code) for code in range(0x20, 0xE00) if chr(code).isprintable()]
    dice = random.Random(4)
    for config in ("english", "simple", "german"):
        for _ in range(100):
            indexed = tsvector_text.index_text("".join(dice.choices(alphabet, k=60)), config)
            assert await owner.fetchval(SAME, config, indexed)
