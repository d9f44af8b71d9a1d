"""The sections of a chunk are found, and headings become names."""

from __future__ import annotations

import pytest

from app.text.names import headings


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
