"""Tests of the page at /docs: it loads nothing from other hosts and has a strict policy."""

import re

import example_app
import pytest
from example_app import assert_problem

from app.web import pages


async def test_the_page_holds_no_inline_script_and_its_policy_allows_none():
    response = await example_app.get("/docs")
    policy = response.headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script[^>]*>[^<]", response.text)
    assert not re.search(r"\son\w+=|style=", response.text)


async def test_a_cached_file_is_not_sent_again():
    first = await example_app.get("/docs/assets/swagger-ui.css")
    assert first.headers["cache-control"] == "public, max-age=3600"
    again = await example_app.get("/docs/assets/swagger-ui.css", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


async def test_the_served_swagger_ui_is_of_the_stated_version():
    version = (pages.WEB / "swagger" / "VERSION").read_text().split()[-1]
    assert f'"{version}"' in (pages.WEB / "swagger" / "swagger-ui-bundle.js").read_text()


@pytest.mark.parametrize(
    "path", ["/docs/assets/none.js", "/docs/assets/../../errors.py", "/docs/assets/%2e%2e/%2e%2e/errors.py"]
)
async def test_nothing_else_is_served_from_there(path):
    assert_problem(await example_app.get(path), 404, "not_found")
