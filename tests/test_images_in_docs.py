"""Tests that the images of the README and the docs exist, are small, and are those that the script makes."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)#]+)\)")


def test_every_image_on_a_page_exists_and_every_image_is_on_a_page() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for path in IMAGE.findall(page.read_text(encoding="utf-8"))
    }
    assert shown == set(IMAGES.iterdir())
