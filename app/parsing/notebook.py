"""Reads Jupyter notebooks: text, code and the texts of outputs, cell by cell, without pictures.

The cells follow the published schema of nbformat 4. Everything else is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from app.errors import UnreadableFile
from app.parsing import author_and_time, markdown_writer
from app.parsing.types import ExtractedDocument, InputFile, LeftOut

_LANGUAGE = re.compile(r"[A-Za-z0-9_+#-]{1,30}")
_WRITTEN_OVER = re.compile(r"(?<![^\r\n])([^\r\n]++)\r(?!\n)")
_TEXTS = ("text/markdown", "text/plain", "text/latex", "text/html")
"""Forms of an output. The first form that it has is read."""


def read(file: InputFile) -> Iterator[ExtractedDocument]:
    """The notebook with its title and authors. Raises UnreadableFile for JSON that is not a notebook."""
    try:
        notebook = json.loads(file.raw)
    except (ValueError, RecursionError) as error:
        raise UnreadableFile("damaged", "The notebook is not valid JSON: save it again.") from error
    if not isinstance(notebook, dict) or not isinstance(notebook.get("cells"), list):
        raise UnreadableFile("damaged", "The file is named .ipynb and is no notebook of version 4: save it again.")
    metadata = _mapping(notebook.get("metadata"))
    language = _mapping(metadata.get("language_info")).get("name")
    language = _text(language or _mapping(metadata.get("kernelspec")).get("language"))
    language = language if _LANGUAGE.fullmatch(language) else ""
    left_out: list[LeftOut] = []
    text = "\n\n".join(
        block for cell in map(_mapping, notebook["cells"]) for block in _blocks(cell, language, left_out)
    )
    if not text:
        raise UnreadableFile("no_text", "The notebook contains no text.")
    authors = (_text(_mapping(author).get("name")) for author in _list(metadata.get("authors")))
    title = _text(metadata.get("title"))
    yield ExtractedDocument(text, title=title, metadata=author_and_time.authors(authors), left_out=tuple(left_out))


def content(raw: bytes) -> Iterator[tuple[str, str]]:
    """The sources of the cells, and all texts of their outputs."""
    for number, cell in enumerate(map(_mapping, json.loads(raw)["cells"]), 1):
        texts = [cell.get("source")]
        for output in map(_mapping, _list(cell.get("outputs"))):
            data = _mapping(output.get("data"))
            texts += [output.get(name) for name in ("text", "ename", "evalue")]
            texts += [data.get(name) for name in _TEXTS if name != "text/html"]
        yield f"cell {number}", "\n".join(map(_text, texts))


def _blocks(cell: dict[str, Any], language: str, left_out: list[LeftOut]) -> Iterator[str]:
    """The Markdown of a cell and of its outputs."""
    kind, source = cell.get("cell_type"), _text(cell.get("source")).strip()
    if kind == "code":
        if source:
            yield markdown_writer.code(source, language)
        for output in _list(cell.get("outputs")):
            if shown := _output(_mapping(output), left_out):
                yield shown
    elif source:
        yield source


def _output(output: dict[str, Any], left_out: list[LeftOut]) -> str:
    """The text of an output; empty for pictures and widgets."""
    if output.get("output_type") == "stream":
        text = _text(output.get("text"))
        left_out += [LeftOut("lines that were written over", over[1]) for over in _WRITTEN_OVER.finditer(text)]
        return _print(text)
    if output.get("output_type") == "error":
        left_out.append(LeftOut("tracebacks", _text(output.get("traceback"))))
        return _print(f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}")
    data = _mapping(output.get("data"))
    if any(name.startswith("image/") for name in data):
        left_out.append(LeftOut("pictures", _text(data.get("text/plain"))))
        return ""  # its text only names the object, such as <Figure size 640x480>
    form = next((name for name in _TEXTS if _text(data.get(name)).strip()), None)
    others = [_text(data.get(name)) for name in _TEXTS if name not in (form, "text/html")]
    left_out += [LeftOut("other forms of the same output", other) for other in others if other.strip()]
    if form is None:
        left_out.append(LeftOut("outputs without text", where=", ".join(data)))
        return ""
    text = _text(data[form])
    if form == "text/html":
        from app.parsing.html import html_text

        return html_text.markdown(text).strip()
    return text.strip() if form == "text/markdown" else _print(text)


def _print(text: str) -> str:
    """Lines as a terminal finally shows them: only the last state of a progress bar. Colours are removed later."""
    lines = (line.rstrip().rpartition("\r")[2] for line in text.split("\n"))
    shown = "\n".join(lines).strip("\n")
    return markdown_writer.code(shown) if shown.strip() else ""


def _text(value: object) -> str:
    """Returns a string, or joins the lines of a string; empty for anything else."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
