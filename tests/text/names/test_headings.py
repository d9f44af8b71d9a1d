"""The sections of a chunk are found, and headings become names."""

from __future__ import annotations

import pytest

from app.text.names import headings


def test_a_chunk_belongs_to_every_section_of_its_path_and_to_those_that_it_contains() -> None:
    content = "First words.\n\n## Silent Harbour\n\nA film.\n\n### Cast\n\nIlse.\n\n## Lundby\n\nA port."
    assert headings.sections(("Almanac", "Part One"), content) == [
        ("Almanac",),
        ("Almanac", "Part One"),
        ("Almanac", "Part One", "Silent Harbour"),
        ("Almanac", "Part One", "Silent Harbour", "Cast"),
        ("Almanac", "Part One", "Lundby"),
    ]


@pytest.mark.parametrize(
    ("heading", "key"),
    [
        ("Silent Harbour", "silent harbour"),
        ("3.2 Refund policy", "refund policy"),
        ("12) Refund policy", "refund policy"),
        ("Ilse Brandt (painter)", "ilse brandt"),
        ("2001 Space Odyssey", "2001 space odyssey"),
        *((text, None) for text in ("2025-10-09", "Monday 3 March", "7.", "And then")),
        ("What we would do otherwise if all of this came again", None),
    ],
)
def test_a_heading_names_its_section_without_its_number_unless_it_is_a_date(heading: str, key: str | None) -> None:
    found = headings.name(heading)
    assert (found and found.key) == key
