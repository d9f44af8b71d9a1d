"""Tests of how the playground is served: at / for browsers only, with a strict policy, from files of the package."""

import json
import re
from typing import get_args
from urllib.parse import urljoin

import example_app
from example_app import assert_problem

from app import enums
from app.query import answer_hints, hop_signal_weights
from app.web import pages

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


async def test_the_redirect_keeps_the_path_below_which_a_proxy_serves() -> None:
    location = (await example_app.get("/")).headers["location"]
    assert urljoin("https://proxy/stepwell/", location) == "https://proxy/stepwell/docs"


async def test_the_policy_allows_the_files_and_calls_of_this_service_only() -> None:
    for path in ("/", "/playground"):
        headers = (await example_app.get(path, **HTML)).headers
        allowed = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
        assert allowed == {
            "default-src": "'none'",
            **dict.fromkeys(("script-src", "style-src", "connect-src", "img-src"), "'self'"),
            **dict.fromkeys(("form-action", "base-uri", "frame-ancestors", "trusted-types"), "'none'"),
            "require-trusted-types-for": "'script'",
        }
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


async def test_every_file_that_the_page_and_its_modules_name_is_served() -> None:
    page = (await example_app.get("/playground")).text
    named = set(re.findall(r'(?:src|href)="(playground/[^"]+)"', page))
    assert len(named) >= 5
    for module in pages.PLAYGROUND.rglob("*.js"):
        own = f"playground/assets/{module.relative_to(pages.PLAYGROUND)}"
        named |= {urljoin(own, name) for name in re.findall(r'(?:from |import )"(\.[^"]+)"', module.read_text())}
    for path in named:
        headers = (await example_app.get(f"/{path}")).headers
        assert (headers["cache-control"], headers["x-content-type-options"]) == ("no-cache", "nosniff"), path
    files = {path.name for path in pages.PLAYGROUND.rglob("*.*")} - {"index.html"}
    assert {path.rpartition("/")[2] for path in named} == files | {"tables.js"}
    assert_problem(await example_app.get("/playground/assets/../../../errors.py"), 404, "not_found")


def test_the_files_hold_no_inline_script_no_html_from_strings_and_no_other_origin() -> None:
    for path in pages.PLAYGROUND.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Storage\b|cookie", text
        ), path
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}, path
        assert text.count("\n") <= 350
        if path.suffix == ".html":
            assert not re.search(r"<script[^>]*>[^<]|\son\w+=|\sstyle=|<style", text)


def test_no_element_has_the_name_of_a_view_to_which_browsers_would_jump() -> None:
    page, main = ((pages.PLAYGROUND / name).read_text(encoding="utf-8") for name in ("index.html", "main.js"))
    views = set(re.findall(r"^  (\w+): \{ title:", main, re.MULTILINE))
    assert views >= {"search", "documents", "entities"}
    assert views & set(re.findall(r'\sid="([^"]+)"', page)) <= {"document"}


async def test_a_module_of_the_page_has_the_label_of_every_signal() -> None:
    response = await example_app.get("/playground/assets/tables.js")
    assert response.headers["content-type"] == "text/javascript; charset=utf-8"
    tables = dict(re.findall(r"^export const (\w+) = (.+);$", response.text, re.MULTILINE))
    assert json.loads(tables["SIGNALS"]) == {signal.name: signal.label for signal in hop_signal_weights.SIGNALS}


def test_the_page_has_words_for_every_value_of_the_api() -> None:
    text = (pages.PLAYGROUND / "search/explain.js").read_text(encoding="utf-8")
    (body,) = re.findall(r"const PARTS = \{(.+?)\};", text, re.DOTALL)
    assert set(re.findall(r"^\s+(\w+):", body, re.MULTILINE)) == {"covers", "first", "rrf", "hop_1", "single_document"}
    assert set(answer_hints.DEGRADED) == set(get_args(enums.Degraded))
