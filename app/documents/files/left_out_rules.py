"""Decides by name which files and folders an ingest leaves out, and counts them by reason.

Files that a tool has fetched or generated are left out, because nobody searches them. Some names, such as `build` or
`vendor`, are also used for documents: such a folder is left out only if a file in or beside it proves what it is.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.enums import LeftOutReason, values

VENDORED = frozenset({"node_modules", "bower_components", "jspm_packages", "site-packages", "dist-packages"})
"""Folders of packages that a package manager has installed."""
VENDORED_WITH: Mapping[str, tuple[str, ...]] = {
    "vendor": ("modules.txt", "autoload.php", "bundle"),
    "Pods": ("Manifest.lock",),
}
"""Folders of packages if they contain one of these files."""
GENERATED = frozenset({"__pycache__", "htmlcov"})
"""Folders that a tool writes."""
GENERATED_BESIDE: Mapping[str, tuple[str, ...]] = {
    "build": ("pyproject.toml", "setup.py", "package.json", "CMakeLists.txt", "build.gradle", "build.gradle.kts"),
    "dist": ("pyproject.toml", "setup.py", "package.json"),
    "out": ("package.json", "tsconfig.json", "build.gradle", "build.gradle.kts"),
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "coverage": ("package.json",),
    "_build": ("conf.py", "mix.exs", "dune-project"),
}
"""Build outputs: folders beside a file with one of these names."""
MARKERS: Mapping[str, LeftOutReason] = {"pyvenv.cfg": "vendored", "CACHEDIR.TAG": "generated", "conda-meta": "vendored"}
"""Files that mark their folder as a virtual environment or a cache."""
_LOCKS = (
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock deno.lock poetry.lock uv.lock pdm.lock "
    "Pipfile.lock conda-lock.yml Cargo.lock composer.lock Gemfile.lock go.sum mix.lock pubspec.lock flake.lock "
    "packages.lock.json gradle.lockfile Podfile.lock Package.resolved"
)
LOCKS = frozenset(_LOCKS.split())
"""Files in which a package manager records versions and hashes."""
SYSTEM = frozenset({".DS_Store", "Thumbs.db", "ehthumbs.db", "desktop.ini"})
"""Files in which a desktop keeps icons and the views of folders."""
ENDINGS = (".min.js", ".min.mjs", ".min.css", ".js.map", ".mjs.map", ".css.map", ".svg", ".egg-info")
"""Ends of the names of minified files, source maps, drawings and metadata of builds."""
REASONS: tuple[LeftOutReason, ...] = values(LeftOutReason)
EXAMPLES = 3
"""Paths that are kept for each reason."""
NOT_UTF8 = "The name of the file is not valid UTF-8."


def show(path: Path | str) -> str:
    """A path as text: bytes that are not UTF-8 are shown as in `caf\\xe9.md`. Other paths are unchanged."""
    return str(path).encode(errors="surrogateescape").decode(errors="backslashreplace")


@dataclass(slots=True)
class LeftOutCounts:
    """The numbers of files and folders that are left out, and the first paths, by reason; a folder counts once."""

    counts: Counter[LeftOutReason] = field(default_factory=Counter)
    examples: dict[LeftOutReason, list[str]] = field(default_factory=dict)

    def add(self, reason: LeftOutReason, path: str) -> None:
        """Count a path. The path of a folder ends with a slash."""
        self.counts[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(show(path))

    @property
    def total(self) -> int:
        """The number of paths."""
        return self.counts.total()

    def as_json(self) -> dict[str, Any]:
        """The count and the examples by reason, in the order of the reasons."""
        return {
            reason: {"count": self.counts[reason], "examples": self.examples[reason]}
            for reason in REASONS
            if self.counts[reason]
        }


def of_folder(folder: Path) -> LeftOutReason | None:
    """Why a folder is left out; None if it is read."""
    name = folder.name
    if name in VENDORED or _has(folder, VENDORED_WITH.get(name, ())):
        return "vendored"
    if name in GENERATED or name.endswith(ENDINGS) or _has(folder.parent, GENERATED_BESIDE.get(name, ())):
        return "generated"
    return next((reason for marker, reason in MARKERS.items() if _has(folder, (marker,))), None)


def of_file(name: str) -> LeftOutReason | None:
    """Why a file is left out by its name; None if its content decides."""
    return "generated" if name in LOCKS or name in SYSTEM or name.lower().endswith(ENDINGS) else None


def _has(folder: Path, names: tuple[str, ...]) -> bool:
    return any(os.path.exists(os.path.join(folder, name)) for name in names)
