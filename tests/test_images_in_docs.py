"""Tests that the images of the README and the docs exist, are small, and are those that the script makes."""

from __future__ import annotations

import ast
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


def test_the_images_are_small_screenshots_of_the_script() -> None:
    script = ast.parse((ROOT / "docs" / "screenshots.py").read_text(encoding="utf-8"))
    (made,) = [
        [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
        for node in script.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Dict)
        and ast.unparse(node.targets[0]) == "SCREENSHOTS"
    ]
    assert {path.name for path in IMAGES.iterdir()} == {f"{name}.png" for name in made}
    for path in IMAGES.iterdir():
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000, path.name
