"""Hits that repeat another one are collapsed; those that differ in what they say are not."""

import random
from uuid import uuid4

import pytest
from harness import cpu_s

from app import limits
from app.query.search_types import Candidate, Hit
from app.search import duplicates

DICE = random.Random(4)
WORDS = [f"word{number}" for number in range(2_000)]
NOTE = "Below the third landing we use lime mortar and never cement, because the old stones have to breathe."


def hit(
    content: str, title: str = "Mortar", headings: tuple[str, ...] = (), *, document: int = 0, file: str = ""
) -> Hit:
    ids = {"chunk_id": uuid4(), "document_id": uuid4(), "source_id": None}
    place = {"chunk_index": 0, "start_offset": 0, "end_offset": len(content), "heading_path": headings}
    named = {"title": title, "uri": f"note-{document}", "metadata": {"filename": file} if file else {}}
    return Hit(Candidate(**ids, **place, **named, content=content, page=None, score=0.5), "low", ())


def contents(hits: list[Hit]) -> list[str]:
    return [one.candidate.content for one in duplicates.collapse(hits)]


def test_the_best_of_equal_passages_has_the_others_whatever_their_titles() -> None:
    hits = [
        hit(NOTE),
        hit("Something else about the harbour wall and its stones."),
        hit(NOTE.upper(), "Copy of mortar"),
    ]
    best, other = duplicates.collapse(hits)
    assert (best.candidate, best.duplicates) == (hits[0].candidate, (hits[2].candidate,))
    assert (other, other.duplicates) == (hits[1], ())


@pytest.mark.parametrize("space", ["  ", "\n" * 60])
def test_passages_with_the_same_beginning_are_compared_by_all_of_their_words(space: str) -> None:
    """The first words that tell passages apart are read from a part of the text, which may end earlier."""
    header, *tails = (" ".join(DICE.choices(WORDS, k=12)) for _ in range(4))
    texts = [f"{header} {tail}" for tail in tails]
    copies = [text.replace(" ", space) for text in texts]
    found = duplicates.collapse(hit(text, str(place)) for place, text in enumerate([*texts, *copies]))
    assert [one.candidate.content for one in found] == texts
    assert [[other.content for other in one.duplicates] for one in found] == [[copy] for copy in copies]


def test_versions_that_differ_in_a_number_are_no_duplicates() -> None:
    words = DICE.choices(WORDS, k=120)
    texts = [" ".join((*words[:40], *number.split(), *words[40:])) for number in ("€24,", "€28,", "2.5 and", "24")]
    assert contents([hit(text) for text in texts]) == texts[:3]


def test_passages_under_another_title_or_heading_are_no_duplicates() -> None:
    village = "{} is part of the name of two villages, both located in Gmina Susz, within Iława County, in Poland."
    one, other = village.format("Lubnowy"), village.format("Jawty")
    assert contents([hit(one, "Lubnowy"), hit(other, "Jawty")]) == [one, other]
    assert contents([hit(one, "Villages", ("Lubnowy",)), hit(other, "Villages", ("Jawty",))]) == [one, other]
    words = DICE.choices(WORDS, k=60)
    one, other = " ".join(words), " ".join([*words[:-1], "edited"])
    assert contents([hit(one, "old.txt", file="old.txt"), hit(other, "new.txt", file="new.txt")]) == [one]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (NOTE, NOTE.replace("lime mortar and never cement", "cement mortar and never any lime")),
        ("Order 17 of customer Ana was shipped on Monday.", "Order 18 of customer Ana was shipped on Monday."),
        ("interval: 300", "interval: 600"),
        tuple(f"{name} wants pull requests of payments to be squashed into one commit." for name in ("Ana", "Bo")),
    ],
)
def test_passages_that_say_something_else_are_no_duplicates(one: str, other: str) -> None:
    assert contents([hit(one), hit(other)]) == [one, other]


def test_a_short_passage_needs_the_title_and_headings_of_the_other() -> None:
    same = [hit("Owner: Mara", "Gannet"), hit("Owner: Mara", "Gannet")]
    assert len(duplicates.collapse(same)) == 1
    assert len(duplicates.collapse([*same, hit("Owner: Mara", "Wagtail")])) == 2
    assert len(duplicates.collapse([*same, hit("Owner: Mara", "Gannet", ("Spare",))])) == 2


def test_every_near_duplicate_is_found_by_a_part_of_its_shingles() -> None:
    """The result is that of a comparison of all pairs."""
    texts = []
    for _ in range(40):
        words = DICE.choices(WORDS, k=DICE.randint(3, 80))
        for _ in range(3):
            edited = list(words)
            for _ in range(DICE.randint(0, 6)):
                edited[DICE.randrange(len(edited))] = DICE.choice(WORDS)
            texts.append(" ".join(edited))
    DICE.shuffle(texts)

    def shingles(text: str) -> frozenset[int]:
        words = text.split()
        ring = words + words[:2]
        return frozenset(hash(tuple(ring[place : place + 3])) for place in range(len(words)))

    kept: list[str] = []
    for text in texts:
        is_long = len(text.split()) >= duplicates.MIN_WORDS
        near = any(is_long and duplicates.jaccard(shingles(text), shingles(one)) >= duplicates.LEAST for one in kept)
        kept += [] if near or text in kept else [text]
    assert contents([hit(text) for text in texts]) == kept


def test_documents_with_duplicates_are_named_once_and_a_few_of_them() -> None:
    first, *others = (hit(NOTE, document=number) for number in range(30))
    again = hit(NOTE)
    again = again._replace(candidate=again.candidate._replace(document_id=first.candidate.document_id))
    (best,) = duplicates.collapse([first, *others, again])
    assert len(best.duplicates) == 30
    named = [one.uri for one in best.duplicate_documents]
    assert named == [f"note-{number}" for number in range(1, limits.MAX_NAMED_DUPLICATES + 1)]


@pytest.mark.parametrize("shared", [0, 40])
def test_collapsing_takes_linear_time(shared: int) -> None:
    """Also if all passages have the same words at their ends, such as a disclaimer."""
    ending = WORDS[:shared]
    hits = [hit(" ".join((*DICE.choices(WORDS, k=160), *ending))) for _ in range(400)]
    few, all_hits = ([cpu_s(duplicates.collapse, some) for _ in range(5)] for some in (hits[:100], hits))
    assert min(all_hits) < 8 * min(few)
