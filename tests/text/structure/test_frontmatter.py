"""Frontmatter is read, and the body is returned whatever the frontmatter contains."""

import itertools
import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.structure import frontmatter


def test_frontmatter_gives_title_language_date_and_metadata():
    parsed = frontmatter.parse(
        "---\ntitle: Site visit\nlang: de\ndate: 2024-05-13\ntags: [a, b]\n---\n\n# Other\n\nBody.\n"
    )
    assert parsed.title == "Site visit"
    assert parsed.language == "de"
    assert parsed.created_at == datetime(2024, 5, 13, tzinfo=UTC)
    assert parsed.metadata == {"title": "Site visit", "lang": "de", "date": "2024-05-13", "tags": ["a", "b"]}
    assert parsed.body == "# Other\n\nBody.\n"
    assert parsed.warnings == ()


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One **bold** [link](http://x) #\n\n# Two", "One bold link"),
        ("intro\n\nUnderlined\n==========\n", "Underlined"),
        ("```\n# in code\n```\n\n# Real", "Real"),
        ("---\nteam: masons\n---\n# Below", "Below"),
        ("## Only level two", None),
        ("#hashtag", None),
        ("plain", None),
    ],
)
def test_the_title_is_the_first_level_one_heading_outside_code(text, title):
    assert frontmatter.parse(text).title == title


def test_dates_are_read_in_utc_and_an_invalid_one_is_reported_and_ignored():
    for value, hour in (("2024-05-13T10:00:00+02:00", 8), ("'2024-05-13 10:00'", 10), ("2024-05-13 10:00:00", 10)):
        parsed = frontmatter.parse(f"---\ncreated_at: {value}\n---\nx")
        assert parsed.created_at == datetime(2024, 5, 13, hour, tzinfo=UTC)
    parsed = frontmatter.parse("---\ncreated: 2024-05-13\nupdated: 2025-01-01\n---\nx")
    assert parsed.created_at == datetime(2024, 5, 13, tzinfo=UTC)
    for value in ("soon", "1712012300000"):
        parsed = frontmatter.parse(f"---\ndate: {value}\n---\nx")
        assert parsed.created_at is None
        assert parsed.warnings == ("frontmatter's date is not an ISO 8601 date: ignored",)


@pytest.mark.parametrize(
    ("block", "is_left_out"), [("# set by hand\na: 1", True), ("a: 1 \n", False), ("a: |\n  # no comment", False)]
)
def test_comments_of_frontmatter_are_reported(block, is_left_out):
    warnings = ("frontmatter has comments: they are left out",)
    assert frontmatter.parse(f"---\n{block}\n---\nx").warnings == (warnings if is_left_out else ())


LETTERS = list(itertools.pairwise("abcdefghi"))
BOMB = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}, *{a}]\n" for a, b in LETTERS)
MERGE_BOMB = "a: &a {k: v}\n" + "".join(f"{b}: &{b} {{<<: [*{a}, *{a}, *{a}]}}\n" for a, b in LETTERS)


@pytest.mark.parametrize(
    "block",
    [
        BOMB,
        MERGE_BOMB,
        "a: &a [*a]\n",
        "x: !!python/object/apply:os.system [ls]\n",
        "x: !!python/name:os.system\n",
        "big: " + "x" * 5_000_000 + "\n",
        "deep: " + "[" * 5_000 + "]" * 5_000 + "\n",
        "many: [" + "1," * 10_001 + "]\n",
        "title: one: two\n",
        "{a: b}: c\n",
        "tab:\t\n\t- x\n",
    ],
)
def test_frontmatter_that_cannot_be_read_stays_in_the_text_with_a_warning(block):
    text = f"---\n{block}---\n# Head\n\nThe body."
    parsed = frontmatter.parse(text)
    assert parsed.body == text
    assert parsed.title == "Head"
    assert parsed.metadata == {}
    assert len(parsed.warnings) == 1


def test_the_line_is_named_at_which_a_frontmatter_cannot_be_read():
    parsed = frontmatter.parse("---\ndate: 2024-05-13\ntitle: Lime: how to slake it\n---\nx")
    assert parsed.warnings == ("frontmatter is not plain YAML in line 3: kept as text",)


@pytest.mark.parametrize(
    ("text", "warnings"),
    [
        ("---\ntitle: x\nnever closed", 1),
        ("---\n- a\n- b\n---\nrest", 1),
        ("---\njust words\n---\nrest", 1),
        ("intro\n---\na: b\n---\n", 0),
    ],
)
def test_what_is_no_frontmatter_stays_text(text, warnings):
    parsed = frontmatter.parse(text)
    assert (parsed.body, parsed.metadata, len(parsed.warnings)) == (text, {}, warnings)


def test_metadata_is_plain_json():
    parsed = frontmatter.parse('---\n1: one\nnull: none\nraw: !!binary aGk=\nset: !!set {a}\nnul: "a\\0b"\n---\nx')
    assert json.loads(json.dumps(parsed.metadata, allow_nan=False)) == parsed.metadata
    assert parsed.metadata["1"] == "one"
    assert parsed.metadata["nul"] == "ab"


WRITTEN = "NO on yes 01234 12:30 1.10 1e3 0x1F 0o17 1_000 -0 -0.0 +5 .5 .inf .nan 2024-02-30 20240513999999999999"


@pytest.mark.parametrize("written", WRITTEN.split())
def test_a_scalar_that_json_would_change_is_a_string_as_it_is_written(written):
    assert frontmatter.parse(f"---\na: {written}\nb: [{written}]\n---\nx").metadata == {"a": written, "b": [written]}


@pytest.mark.parametrize(
    ("written", "value"),
    [("2024", 2024), ("-40", -40), ("0", 0), ("-0.25", -0.25), ("true", True), ("null", None), ("''", "")],
)
def test_a_scalar_that_json_writes_in_the_same_form_has_its_type(written, value):
    (found,) = frontmatter.parse(f"---\na: {written}\n---\nx").metadata.values()
    assert (found, type(found)) == (value, type(value))


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!#|>'\"\n 1.,~?%@")), st.text(alphabet=st.characters(codec="utf-8")))
def test_no_frontmatter_makes_parsing_fail_or_loses_the_body(block, body):
    parsed = frontmatter.parse(f"---\n{block}\n---\n{body}")
    assert parsed.body.endswith(body.lstrip("\n")) or parsed.body == ""
    json.dumps(parsed.metadata, allow_nan=False)
