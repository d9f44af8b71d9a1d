"""Writes the methods of the client from the OpenAPI document, and the asynchronous client from the synchronous one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parent / "src" / "stepwell_client"
CONTRACT = json.loads((Path(__file__).parents[1] / "openapi" / "openapi.json").read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
WIDTH = 110
ROOT = "Searches"
"""The class of the methods that stand on the client itself."""
PARTS = {
    ROOT: "Searches, and what concerns the whole service.",
    "Documents": "Documents and their chunks.",
    "Entities": "People, teams, projects and other things with names.",
    "Sources": "Folders whose documents are kept in step.",
    "Jobs": "Background jobs.",
    "Synonyms": "Words and phrases that are searched for one another.",
    "Tools": "Tools for agents.",
}
METHODS = {
    "search": f"{ROOT}.search",
    "search_multihop": f"{ROOT}.search_multihop",
    "search_two_pass": f"{ROOT}.search_by_entity",
    "explain_placement": f"{ROOT}.why",
    "similar": f"{ROOT}.similar",
    "rerank": f"{ROOT}.rerank",
    "give_feedback": f"{ROOT}.give_feedback",
    "list_facets": f"{ROOT}.facets",
    "stats": f"{ROOT}.stats",
    "healthz": f"{ROOT}.health",
    "readyz": f"{ROOT}.ready",
    "add_documents": "Documents.add",
    "list_documents": "Documents.list",
    "get_document": "Documents.get",
    "replace_document": "Documents.replace",
    "change_document": "Documents.change",
    "delete_document": "Documents.delete",
    "delete_document_by_uri": "Documents.delete_by_uri",
    "delete_documents": "Documents.delete_matching",
    "reindex_documents": "Documents.reindex",
    "list_chunks": "Documents.chunks",
    "add_entities": "Entities.add",
    "search_entities": "Entities.search",
    "list_entities": "Entities.list",
    "get_entity": "Entities.get",
    "change_entity": "Entities.change",
    "merge_entities": "Entities.merge",
    "delete_entity": "Entities.delete",
    "list_entity_documents": "Entities.documents",
    "add_source": "Sources.add",
    "list_sources": "Sources.list",
    "get_source": "Sources.get",
    "change_source": "Sources.change",
    "sync_source": "Sources.sync",
    "delete_source": "Sources.delete",
    "list_jobs": "Jobs.list",
    "get_job": "Jobs.get",
    "cancel_job": "Jobs.cancel",
    "get_synonyms": "Synonyms.get",
    "describe_tools": "Tools.openapi",
}
"""The method of each operation. Those that are missing stand in `client.py`."""
BY_HAND = {"upload_documents", "upsert_entities", "follow_job", "set_synonyms", "list_tools", "call_tool"}
OTHERS = {"metrics"}
"""Operations that the client does not have."""
MODELS = {
    "SearchAnswer": "Answer",
    "RerankAnswer": "MergedAnswer",
    "FeedbackResult": "Judgement",
    "MetadataKeys": "Facets",
    "StorageStats": "Stats",
    "StoredDocument": "Document",
    "StoredEntity": "Entity",
    "EntitySearchResponse": "EntityAnswer",
    "EntityDocumentPage": "LinkedDocumentPage",
    "AddedSourceResult": "AddedSource",
    "CountedSource": "Source",
    "StoredJob": "Job",
    "StoredSynonyms": "Synonyms",
}
"""The models of results whose names differ from those of the contract."""
FIRST = {
    "search": ("query",),
    "similar": ("chunk_id",),
    "give_feedback": ("query", "helpful"),
    "add_entities": ("type", "name"),
    "delete_documents": ("filters",),
    "reindex_documents": ("filters",),
}
"""Arguments that need no name, in their order, where they are more than the required ones."""
COMMON = ("limit", "filters", "detail", "depth", "mode")
"""Arguments that stand before the others."""
TYPES = {"filters": "Mapping[str, Any]", "lists": "Sequence[Mapping[str, Any]]"}
"""Types of arguments that are not as narrow as those of the contract."""
NEEDED = dict.fromkeys(("search_multihop", "search_two_pass", "explain_placement"), ("query",))
"""Arguments that the contract does not require because another operation shares the request."""
REPEATABLE = {
    *("search", "search_multihop", "search_two_pass", "explain_placement", "similar", "rerank"),
    *("give_feedback", "add_documents", "search_entities"),
}
"""Operations by POST that change nothing more if they are sent twice."""
SIMPLE = {
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "string": "str",
    "null": "None",
    "object": "Mapping[str, Any]",
}
FORMATS = {"uuid": ["UUID", "str"], "date-time": ["date", "str"], "date": ["date", "str"]}
NOT_NONE = ("query",)
"""Required arguments that are not None, although the contract lets another operation leave them out."""

_ASYNCHRONOUS = (
    (r'"""Sends operations to a service and', '"""Sends operations to a service asynchronously and'),
    (r'"""Defines the methods', '"""Defines the asynchronous methods'),
    (r"\bclass Client\(", "class AsyncClient("),
    (r"A synchronous client; use it as a context manager, or call `close`\. It may be shared by threads\.",
     "An asynchronous client; use it as a context manager, or call `aclose`. It may be used in several event loops."),
    (r"(?<!options\.)\b(Group|Runs)\b", r"Async\1"),
    (r"\bresources\b", "async_resources"),
    (r"http: httpx\.Client \| None", "http: httpx.AsyncClient | None"),
    (r"http or httpx\.Client\(", "http or LoopClient("),
    (r"^    def (?!with_options|__|\w+\(self\) -> (?!None)[A-Z]\w+:)", "    async def "),
    (r"self\.(run|_send|get|list)\(", r"await self.\1("),
    (r"self\._http\.request\(", "await self._http.request("),
    (r"with self\.(_http\.)?stream\(", r"async with self.\1stream("),
    (r"\bcontextmanager\b", "asynccontextmanager"),
    (r"response\.read\(\)", "await response.aread()"),
    (r"yield from filter\(None, map\(transport\.job_of, response\.iter_lines\(\)\)\)",
     "async for line in response.aiter_lines():\n                "
     "if job := transport.job_of(line):\n                    yield job"),
    (r"yield from page\.(\w+)", r"for one in page.\1:\n                yield one"),
    (r"time\.sleep\(", "await asyncio.sleep("),
    (r"\bIterator\[", "AsyncIterator["),
    (r"\bIterator\b(?!\[)", "AsyncIterator"),
    (r"async def close\(", "async def aclose("),
    (r"self\._http\.close\(\)", "await self._http.aclose()"),
    (r"self\.close\(\)", "await self.aclose()"),
    (r"def __enter__", "async def __aenter__"),
    (r"def __exit__", "async def __aexit__"),
    (r"import copy\nimport time\n", "import asyncio\nimport copy\n"),
    (r"(from stepwell_client\.errors import .+\n)", r"\1from stepwell_client.loops import LoopClient\n"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a method, and the field or parameter that it becomes."""

    name: str
    type: str
    is_required: bool
    about: str

    @property
    def written(self) -> str:
        """The argument in a signature."""
        return f"{self.name}: {self.type}" if self.is_required else f"{self.name}: {self.type} | None = None"


@dataclass(frozen=True, slots=True)
class Called:
    """An operation as it is called: its path, its fields and its result. `tuning` are the fields of `ranking`."""

    name: str
    id: str
    verb: str
    path: str
    fields: Sequence[Argument]
    tuning: Sequence[Argument]
    parameters: Sequence[Argument]
    result: str
    about: Sequence[str]

    @property
    def arguments(self) -> list[Argument]:
        """All arguments of the method but those of its path."""
        return [*self.fields, *self.tuning, *self.parameters]


CHANGES = Argument("changes", "Mapping[str, Any]", is_required=True, about="The fields to set; None removes one.")


def files() -> dict[str, str]:
    """The generated modules by name."""
    resources = "\n\n".join(["\n".join(_module()), *(_class(name) for name in PARTS)])
    client = (PACKAGE / "client.py").read_text(encoding="utf-8")
    return {
        "options.py": _options(resources),
        "resources.py": resources,
        "async_resources.py": _make_asynchronous(resources),
        "async_client.py": _make_asynchronous(client),
    }


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The verb, path and description of each operation."""
    for path, item in CONTRACT["paths"].items():
        for verb, described in item.items():
            yield verb, path, described


def results() -> list[tuple[str, str]]:
    """The id of the operation of each generated method, and the name of the model of its result."""
    return [(call.id, call.result.removeprefix("models.")) for call in _calls()]


def _module() -> list[str]:
    return [
        '"""Defines the methods of the client that follow from the contract alone. Written by generate.py."""',
        "from __future__ import annotations",
        "from collections.abc import Iterator, Mapping, Sequence",
        "from datetime import date",
        "from typing import Any, Literal",
        "from uuid import UUID",
        "from stepwell_client import models, options",
        "from stepwell_client.groups import Group, Runs",
        "from stepwell_client.operations import Operation, given, segment",
    ]


def _class(part: str) -> str:
    base = "Runs" if part == ROOT else "Group"
    methods = [_method(one) for one in _calls() if one.name.startswith(f"{part}.")]
    return "\n\n".join([f'class {part}({base}):\n    """{PARTS[part]}"""', *methods])


def _calls() -> Iterator[Called]:
    for verb, path, described in operations():
        if (name := METHODS.get(described["operationId"])) is None:
            continue
        yield _call(name, verb, path, described, 0)
        if name == "Documents.add":
            yield _call("Documents.add_page", verb, path, described, 1)


def _call(name: str, verb: str, path: str, described: Mapping[str, Any], branch: int) -> Called:
    """An operation; `branch` is the place of its request and of its result where the contract has several."""
    id = described["operationId"]
    request = _branch(_content(described.get("requestBody", {})), branch)
    fields, tuning = ([CHANGES], []) if verb == "patch" else _fields_of(request, NEEDED.get(id, ()))
    answers = [answer for code, answer in sorted(described["responses"].items()) if code.startswith("2")]
    paragraph, _, _ = described.get("description", "").partition("\n\n")
    about = f"{described['summary']}.", " ".join(paragraph.split())
    result = _result(_content(answers[0]), branch)
    return Called(name, id, verb.upper(), path, fields, tuning, _parameters_of(described), result, about)


def _fields_of(schema: Mapping[str, Any], needed: Sequence[str]) -> tuple[list[Argument], list[Argument]]:
    """The fields of a request, and those of its `ranking`."""
    properties = dict(schema.get("properties", {}))
    ranking = _resolve(properties.pop("ranking", {})).get("properties", {})
    required = [*schema.get("required", ()), *needed]
    fields = [_argument(name, one, is_required=name in required) for name, one in properties.items()]
    return fields, [_argument(name, one) for name, one in ranking.items()]


def _parameters_of(described: Mapping[str, Any]) -> list[Argument]:
    """The query parameters of an operation."""
    return [
        _argument(
            one["name"], {**one["schema"], "description": one["description"]}, is_required=one.get("required", False)
        )
        for one in described.get("parameters", ())
        if one["in"] == "query"
    ]


def _content(described: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = described.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _branch(schema: dict[str, Any], branch: int) -> dict[str, Any]:
    schema = _resolve(schema)
    return _resolve(schema["anyOf"][branch]) if "anyOf" in schema else schema


def _resolve(schema: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = SCHEMAS[_ref(schema)] if "$ref" in schema else schema
    return found


def _ref(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _result(schema: dict[str, Any], branch: int) -> str:
    if "$ref" not in schema:
        return "dict[str, Any]"
    name = _ref(schema)
    if name not in MODELS and "anyOf" in SCHEMAS[name]:
        return _result(SCHEMAS[name]["anyOf"][branch], branch)
    return "models.DocumentResults" if name == "DocumentResultList" else f"models.{MODELS.get(name, name)}"


def _argument(name: str, schema: Mapping[str, Any], *, is_required: bool = False) -> Argument:
    """A field as an argument; None is left out, because it means that an argument is not given."""
    about = schema.get("description") or _resolve(dict(schema)).get("description", "")
    kinds = [kind for kind in _types(schema) if kind != "None" or (is_required and name not in NOT_NONE)]
    return Argument(name, TYPES.get(name) or " | ".join(kinds), is_required, " ".join(about.split()))


def _types(schema: Mapping[str, Any]) -> list[str]:
    """The types of a value as Python writes them."""
    if "$ref" in schema:
        return [f"options.{_ref(schema)}"]
    if branches := schema.get("anyOf") or schema.get("oneOf"):
        return list(dict.fromkeys(kind for branch in branches for kind in _types(branch)))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return [f"Literal[{', '.join(map(json.dumps, values))}]"]
    if schema.get("type") == "array":
        return [f"Sequence[{' | '.join(_types(schema.get('items', {})))}]"]
    return FORMATS.get(schema.get("format", "")) or [SIMPLE.get(schema.get("type", ""), "Any")]


def _method(call: Called) -> str:
    """The source of a method; of a listing also that of `all`, which reads its pages."""
    part, _, name = call.name.partition(".")
    first = FIRST.get(call.id, ())
    placed = [one for one in call.arguments if one.is_required or one.name in first]
    placed.sort(key=lambda one: first.index(one.name) if first else 0)
    named = [one for one in call.arguments if one not in placed]
    named.sort(key=lambda one: COMMON.index(one.name) if one.name in COMMON else len(COMMON))
    path_arguments = [f"{one}: UUID | str" for one in re.findall(r"{(\w+)}", call.path)]
    signature = ["self", *path_arguments, *(one.written for one in placed)]
    signature += ["*", *(one.written for one in named)] if named else []
    source = f"def {name}({', '.join(signature)}) -> {call.result}:\n{_docstring(call.about, [*placed, *named])}\n"
    source += f"    return self.run({_operation(call)})"
    written = textwrap.indent(source, "    ")
    return f"{written}\n\n{_all(part, call)}" if name == "list" else written


def _docstring(about: Sequence[str], arguments: Sequence[Argument]) -> str:
    lines = [f'    """{about[0]}']
    if about[1]:
        lines += ["", *textwrap.wrap(about[1], WIDTH, initial_indent="    ", subsequent_indent="    ")]
    described = [one for one in arguments if one.about]
    if described:
        lines += ["", "    Args:"]
        for one in described:
            lines += textwrap.wrap(
                f"{one.name}: {one.about}", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 12
            )
    return "\n".join(lines) + ('\n    """' if len(lines) > 1 else '"""')


def _operation(call: Called) -> str:
    path = f'"{call.path}"'
    if "{" in path:
        path = "f" + re.sub(r"{(\w+)}", r"{segment(\1)}", path)
    parts = [f'"{call.verb}"', path, call.result]
    if call.verb == "PATCH":
        parts.append("body=dict(changes)")
    elif call.fields:
        parts.append(f"body={_fields(call)}")
    if call.parameters:
        parts.append(f"parameters=given({', '.join(f'{one.name}={one.name}' for one in call.parameters)})")
    if call.id in REPEATABLE:
        parts.append("repeatable=True")
    return f"Operation({', '.join(parts)})"


def _fields(call: Called) -> str:
    required = [f'"{one.name}": {one.name}' for one in call.fields if one.is_required]
    others = [f"{one.name}={one.name}" for one in call.fields if not one.is_required]
    if call.tuning:
        others.append(f"ranking=given({', '.join(f'{one.name}={one.name}' for one in call.tuning)}) or None")
    if not required:
        return f"given({', '.join(others)})"
    return f"{{{', '.join(required)}, **given({', '.join(others)})}}" if others else f"{{{', '.join(required)}}}"


def _all(part: str, call: Called) -> str:
    """The source of the method that reads a listing page by page."""
    items = part.lower()
    page = SCHEMAS[call.result.removeprefix("models.")]
    of_one = _result(page["properties"][items]["items"], 0)
    kept = [one for one in call.arguments if one.name not in ("limit", "cursor")]
    passed = "".join(f", {one.name}={one.name}" for one in kept)
    signature = ", ".join(["self", *(["*", *(one.written for one in kept)] if kept else [])])
    return textwrap.indent(
        f"def all({signature}) -> Iterator[{of_one}]:\n"
        f'    """All that `list` would return, read page by page as they are needed."""\n'
        f"    cursor: str | None = None\n"
        f"    while True:\n"
        f"        page = self.list(limit=200, cursor=cursor{passed})\n"
        f"        yield from page.{items}\n"
        f"        if (cursor := page.next_cursor) is None:\n"
        f"            return\n",
        "    ",
    )


def _options(resources: str) -> str:
    """The module of the types that arguments have."""
    found: dict[str, str] = {}
    _collect(re.findall(r"options\.(\w+)", resources), found)
    head = [
        '"""Defines the types of options: values to choose from, and objects. Written by generate.py."""',
        "from __future__ import annotations",
        "from collections.abc import Mapping, Sequence",
        "from datetime import date",
        "from typing import Any, Literal, Required, TypedDict",
        "from uuid import UUID",
    ]
    return "\n".join(head) + "\n\n" + "\n\n".join(found.values()) + "\n"


def _collect(names: Sequence[str], found: dict[str, str]) -> None:
    """Writes the named schemas, and first those that they name."""
    for name in dict.fromkeys(names):
        schema = SCHEMAS[name]
        if "properties" not in schema:
            found.setdefault(name, f"{name} = {' | '.join(_types(schema))}")
            continue
        if name in found:
            continue
        fields = {field: _argument(field, one).type for field, one in schema["properties"].items()}
        _collect([one for kind in fields.values() for one in re.findall(r"options\.(\w+)", kind)], found)
        required = schema.get("required", ())
        about, _, _ = schema.get("description", name).partition("\n")
        lines = [f'class {name}(TypedDict, total=False):\n    """{about}"""\n']
        for field, kind in fields.items():
            plain = kind.replace("options.", "")
            lines.append(f"    {field}: {f'Required[{plain}]' if field in required else plain}")
        found[name] = "\n".join(lines)


def _make_asynchronous(source: str) -> str:
    for pattern, replacement in _ASYNCHRONOUS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def main() -> None:
    """Writes the modules, formatted."""
    for name, source in files().items():
        path = PACKAGE / name
        path.write_text(source, encoding="utf-8")
    written = [str(PACKAGE / name) for name in files()]
    ruff = str(Path(sys.executable).parent / "ruff")
    for arguments in (["check", "--fix", "--quiet", "--select", "I,F401"], ["format", "--quiet"]):
        subprocess.run([ruff, *arguments, *written], check=True)


if __name__ == "__main__":
    main()
