"""Notebooks become Markdown: text, code and the texts of outputs, without pictures."""

import made_files
import pytest
from reading import Read, refusal

PICTURE = "iVBORw0KGgo" * 1_000


def _code(source: str, *outputs: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "outputs": outputs}


def test_a_notebook_has_its_cells_and_the_texts_of_outputs(read: Read) -> None:
    raw = made_files.notebook(
        {"cell_type": "markdown", "source": ["# Tides\n", "Two a day."]},
        _code(
            'print("high")',
            {"output_type": "stream", "name": "stdout", "text": ["10%\r100%\n", "high\n"]},
            {"output_type": "display_data", "data": {"image/png": PICTURE, "text/plain": "<Figure size 640x480>"}},
            {"output_type": "execute_result", "data": {"text/html": "<b>3</b>", "text/plain": ["3", ".5"]}},
            {"output_type": "error", "ename": "KeyError", "evalue": "'Lindau'", "traceback": ["in tides.py"]},
            {"output_type": "display_data", "data": {"application/json": {"high": 3}}},
        ),
        {"cell_type": "raw", "source": "Notes."},
        metadata={"title": "Harbour", "authors": [{"name": "Ana Veit"}], "language_info": {"name": "python"}},
    )
    (document,) = read(raw, "a.ipynb")
    assert document.text == (
        '# Tides\nTwo a day.\n\n```python\nprint("high")\n```\n\n```\n100%\nhigh\n```\n\n```\n3.5\n```\n\n'
        "```\nKeyError: 'Lindau'\n```\n\nNotes."
    )
    assert (document.title, document.metadata) == ("Harbour", {"author": "Ana Veit"})
    assert document.warnings[-2:] == (
        "Left out as tracebacks: 1 line.",
        "Left out as outputs without text: application/json.",
    )


def test_what_a_long_line_of_output_was_written_over_is_left_out(read: Read) -> None:
    line = ", ".join(map(str, range(20_000)))
    (document,) = read(made_files.notebook(_code("", {"output_type": "stream", "text": f"0%\r{line}\n"})), "a.ipynb")
    assert document.text == f"```\n{line}\n```"


def test_each_author_of_a_notebook_is_one(read: Read) -> None:
    metadata = {"authors": [{"name": "Ana"}, {"name": "Veit, Bob"}, {"name": ""}, 3]}
    (document,) = read(made_files.notebook(_code("a"), metadata=metadata), "a.ipynb")
    assert document.metadata == {"author": ["Ana", "Veit, Bob"]}


def test_code_that_contains_fences_stays_one_block(read: Read) -> None:
    (document,) = read(made_files.notebook(_code("a = '''\n```\n'''")), "a.ipynb")
    assert document.text == "````\na = '''\n```\n'''\n````"


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (made_files.notebook(_code("a"))[:-20], "damaged"),
        (b"[" * 100_000, "damaged"),
        (b'{"a": 1}', "damaged"),
        (b'{"nbformat": 3, "worksheets": [{"cells": []}]}', "damaged"),
        (b'{"nbformat": 4, "cells": [[1]], "metadata": 3}', "no_text"),
        (made_files.notebook({"cell_type": "code", "source": {"a": 1}, "outputs": [1, {"data": [2]}]}), "no_text"),
        (made_files.notebook(_code("", {"output_type": "display_data", "data": {"image/png": PICTURE}})), "no_text"),
    ],
    ids=["truncated", "nested", "another object", "version 3", "other types", "other types in cells", "pictures"],
)
def test_what_is_no_notebook_is_refused(read: Read, raw: bytes, code: str) -> None:
    assert refusal(read, raw, "a.ipynb") == code
