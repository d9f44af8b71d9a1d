"""All SQL statements of the store."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from app.database import sql
from app.multihop import store as links
from app.search.store import hybrid_search

COMPOSED = (hybrid_search.HYBRID, hybrid_search.RANKED, links.NAMES)
"""The names of the files of each statement that is composed of CTEs; the last is that of the statement."""


def text(source: sql.StatementSource) -> str:
    """The statement with its fragments, its CTEs and all of its parts, without comments."""
    lines = (line for lines in (*source.ctes, source.lines) for line in lines)
    return re.sub(r"--.*$", "", "\n".join(lines), flags=re.MULTILINE).strip()


def module_name(path: Path) -> str:
    """The name of a module, that of its folder where it is a `store`."""
    return path.parent.name if path.stem == "store" else path.stem


def _inline() -> Iterator[tuple[str, sql.StatementSource]]:
    """The statements in modules by module and constant."""
    for path in sorted(sql.FOLDER.rglob("*.py")):
        if ".inline" not in (code := path.read_text(encoding="utf-8")):
            continue
        tree = ast.parse(code)
        inline = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "inline"]
        found = 0
        for node in tree.body:
            match node:
                case ast.Assign([ast.Name(name)], ast.Call(called, [source], [])) if called in inline:
                    yield f"{module_name(path)}.{name}", sql.parse(ast.literal_eval(source))
                    found += 1
        assert found == len(inline), f"a statement in {path} is not the value of a constant of the module"


INLINE: Mapping[str, sql.StatementSource] = dict(_inline())
"""The sources of the statements that stand in modules, by module and constant."""

SOURCES: Mapping[str, sql.StatementSource] = {
    **{name: sql.load(name) for name in sql.files()},
    **{names[-1]: sql.load(names) for names in COMPOSED},
    **INLINE,
}
"""The sources of all statements by name."""
