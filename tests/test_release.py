"""Tests of what a release consists of: packages, licences, and the check of its tag."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_source_and_the_client_are_packed_with_their_licences(tmp_path: Path) -> None:
    for folder, kind in ((ROOT, "sdist"), (ROOT / "client", "wheel")):
        build = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(tmp_path)]
        subprocess.run(build, cwd=folder, check=True, capture_output=True)
    (source,), (client,) = tmp_path.glob("stepwell-*.tar.gz"), tmp_path.glob("stepwell_client-*.whl")
    with tarfile.open(source) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert {"app/main.py", "migrations/env.py", "pyproject.toml", "LICENSE", "NOTICE", "README.md"} <= packed
    assert not [name for name in packed if name.startswith((".venv", ".git/")) or name.endswith((".env", ".pyc"))]
    names = zipfile.ZipFile(client).namelist()
    assert {"stepwell_client/__init__.py", "stepwell_client/py.typed"} <= set(names)
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_the_notice_names_each_package_that_is_installed() -> None:
    locks = [(ROOT / name).read_text() for name in ("requirements.lock", "requirements-ocr.lock")]
    locked = set(re.findall(r"^([a-z0-9._-]+)==", "\n".join(locks), flags=re.MULTILINE))
    named = set(re.findall(r"^([a-z0-9._-]+) {2,}\S", (ROOT / "NOTICE").read_text(), flags=re.MULTILINE))
    assert named == locked


def test_a_tag_that_is_not_the_version_is_refused() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    wrong = subprocess.run([ROOT / ".ci/check-release", "v99.0.0"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert f"client/pyproject.toml has version {version}, and the tag is v99.0.0." in wrong.stderr
