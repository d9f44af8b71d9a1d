"""A hyphen at the end of a line divides a word, belongs to it, or stands for a part that is left out."""

from __future__ import annotations

import pytest

from app.text.words import cleaning


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("a high-\nway", "a highway"),
        ("the Hafen-\nbehörde", "the Hafenbehörde"),
        ("is of-\nten seen", "is often seen"),
        ("the the-\nory of", "the theory of"),
        ("a pho-\nto of", "a photo of"),
        ("the buck-\net is", "the bucket is"),
        ("un-\nrelated and in-\ndependent", "unrelated and independent"),
        ("the well-\nness and self-\nishness", "the wellness and selfishness"),
        ("gre\u2010\nping of files", "greping of files"),
        (
            "       searches the named input files for a pat‐\n       tern",
            "       searches the named input files for a pattern",
        ),
    ],
)
def test_a_divided_word_is_joined(text: str, joined: str) -> None:
    assert cleaning.clean(text).text == joined


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("the state-of-the-\nart pier", "the state-of-the-art pier"),
        ("the state-\nof-the-art pier", "the state-of-the-art pier"),
        ("her mother-in-\nlaw", "her mother-in-law"),
        ("a well-\nknown port", "a well-known port"),
        ("a tide-\nbased fee", "a tide-based fee"),
        ("x-\nray", "x-ray"),
        ("a low-water mark, the low-\nwater mark", "a low-water mark, the low-water mark"),
    ],
)
def test_a_hyphen_that_belongs_to_the_word_is_kept(text: str, joined: str) -> None:
    assert cleaning.clean(text).text == joined


@pytest.mark.parametrize(
    "text",
    [
        "Vor-\nund Nachteile",
        "Hafen-\noder Liegegebühr",
        "Pre-\nand post-war",
        "pré-\net post-opératoire",
        "pre-\nto post-war",
        "    foo-\nbar",
        "    let foo-\n    bar",
    ],
)
def test_a_suspended_hyphen_and_code_stay(text: str) -> None:
    assert cleaning.clean(text).text == text


def test_a_word_that_is_elsewhere_in_the_text_decides() -> None:
    text = "The highland. The post-war years. A high-\nland, the post-\nwar time, and a Husb-\nand: husband."
    assert cleaning.clean(text).text == (
        "The highland. The post-war years. A highland, the post-war time, and a Husband: husband."
    )


def test_what_a_printer_writes_over_is_written_once() -> None:
    assert cleaning.clean("N\bNA\bA_\bM_\bE and _\bB\bB").text == "NAME and B"
