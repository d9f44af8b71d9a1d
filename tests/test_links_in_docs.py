"""Tests that the links of the README and the docs lead somewhere, and that every image is shown."""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
PAGES = [
    page for folder in (ROOT, ROOT / "client", ROOT / "docs", ROOT / "docs/decisions") for page in folder.glob("*.md")
]
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]+))?\)")
IMAGE = re.compile(r"!\[[^\]]+\]\(([^)#]+)\)")


def _headings(page: Path) -> Iterator[str]:
    """The anchors of the headings of a page, as GitHub makes them; none of its headings occurs twice."""
    blocks_left_out = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for heading in re.findall(r"^#+ (.+)$", blocks_left_out, re.MULTILINE):
        yield re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def test_every_link_leads_to_a_file_and_to_a_heading_in_it() -> None:
    lost = []
    for page in PAGES:
        for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in _headings(target)):
                lost.append(f"{page.relative_to(ROOT)}: {path}#{anchor}")
    assert lost == []


def test_every_image_on_a_page_exists_and_every_image_is_on_a_page() -> None:
    shown = {
        (page.parent / path).resolve()
        for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for path in IMAGE.findall(page.read_text(encoding="utf-8"))
    }
    assert shown == set(IMAGES.iterdir())
