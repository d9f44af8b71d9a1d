"""Folders outside the allowed ones cannot be added, and neither `..` nor symbolic links lead out of a source."""

import os
from pathlib import Path
from uuid import uuid4

import pytest
import source_folder
from harness import Tenant

from app import errors
from app.sources import source_roots, source_scan
from app.sources.source_scan import FoundFile, Scan
from app.sources.types import FileFailure, KnownFile, SourceDraft, SourceRoots

ANA, BOB = "ana", "bob"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with `root`, in which ana and bob have notes, and `outside`."""
    base = tmp_path.resolve()
    for path in ("root/ana/notes/a.md", "root/bob/notes/b.md", "root/top.md", "outside/secret.md"):
        source_folder.write(base, path, f"Text of {path}.".encode())
    return base


def _allowed(base: Path, path: str | Path, user_id: str = ANA, *, per_user: bool = False) -> Path:
    return source_roots.allowed(str(path), user_id, SourceRoots((base / "root",), per_user=per_user))[0]


def test_without_roots_nothing_is_allowed(base: Path) -> None:
    with pytest.raises(errors.Forbidden):
        source_roots.allowed(str(base), ANA, SourceRoots())


def test_folders_and_files_below_a_root_are_allowed(base: Path) -> None:
    assert _allowed(base, "ana/notes") == _allowed(base, base / "root/ana/notes") == base / "root/ana/notes"
    assert _allowed(base, base / "root") == base / "root"
    roots = SourceRoots((base / "root",))
    assert source_roots.allowed("top.md", ANA, roots) == (base / "root", "top.md")


@pytest.mark.parametrize(
    "path",
    [
        *("../outside", "ana/../../outside", "ana/..", "", "a\0b", "a\nb"),
        *("none", "ana/none", "n" * 300, "ana/" + "é" * 150),
    ],
)
def test_paths_that_leave_the_root_or_do_not_exist_are_refused(base: Path, path: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        _allowed(base, path)
    assert raised.value.field == "path"
    with pytest.raises(errors.BadRequest):
        source_roots.any_folder(path)


def test_absolute_paths_outside_are_refused_alike_whether_they_exist(base: Path) -> None:
    messages = set()
    for path in (base / "outside", base / "outside/secret.md", base / "none", Path("/etc"), Path("/")):
        with pytest.raises(errors.Forbidden) as raised:
            _allowed(base, path)
        messages.add(raised.value.message)
    assert len(messages) == 1


def test_symbolic_links_do_not_lead_out_of_a_root(base: Path) -> None:
    (base / "root/ana/link").symlink_to(base / "outside")
    (base / "root/ana/file.md").symlink_to(base / "outside/secret.md")
    (base / "root/ana/inner").symlink_to(base / "root/ana/notes")
    for path in ("ana/link", base / "root/ana/link", "ana/file.md"):
        with pytest.raises(errors.Forbidden):
            _allowed(base, path)
    assert _allowed(base, "ana/inner") == base / "root/ana/notes"


def test_each_user_has_a_root_of_its_own(base: Path) -> None:
    assert _allowed(base, "notes", per_user=True) == base / "root/ana/notes"
    assert _allowed(base, "notes", BOB, per_user=True) == base / "root/bob/notes"
    for path in (base / "root/bob/notes", base / "root"):
        with pytest.raises(errors.Forbidden):
            _allowed(base, path, per_user=True)
    (base / "root/ana/other").symlink_to(base / "root/bob/notes")
    with pytest.raises(errors.Forbidden):
        _allowed(base, "other", per_user=True)
    for user_id in ("..", ".", "ana/notes", "../outside", "/etc"):
        with pytest.raises((errors.Forbidden, errors.BadRequest)):
            _allowed(base, "notes", user_id, per_user=True)
    (base / "root/eve").symlink_to(base / "root/bob")
    with pytest.raises(errors.Forbidden):
        _allowed(base, "notes", "eve", per_user=True)


def test_a_source_whose_folder_became_a_link_or_is_not_allowed_any_more_is_not_read(base: Path) -> None:
    notes, roots = base / "root/ana/notes", SourceRoots((base / "root",), per_user=True)
    source_roots.check(notes, ANA, roots, confined=True)
    with pytest.raises(errors.Forbidden):
        source_roots.check(notes, BOB, roots, confined=True)
    with pytest.raises(errors.Forbidden):
        source_roots.check(base / "outside", ANA, roots, confined=True)
    source_roots.check(base / "outside", ANA, SourceRoots(), confined=False)
    (base / "root/ana").rename(base / "root/was")
    (base / "root/ana").symlink_to(base / "root/bob")
    with pytest.raises(errors.Conflict):
        source_roots.check(notes, ANA, roots, confined=True)


def test_files_are_read_without_following_any_link(base: Path) -> None:
    notes = base / "root/ana/notes"
    assert source_roots.read(notes, "a.md")[0] == b"Text of root/ana/notes/a.md."
    (notes / "file.md").symlink_to(base / "outside/secret.md")
    (notes / "deep").symlink_to(base / "outside")
    os.mkfifo(notes / "pipe.md")
    for path in ("file.md", "deep/secret.md", "../../../outside/secret.md", "none.md"):
        with pytest.raises(OSError):  # noqa: PT011 - the number differs between systems
            source_roots.read(notes, path)
    with pytest.raises(errors.BadRequest):
        source_roots.read(notes, "pipe.md")
    (base / "root/was").mkdir()
    notes.rename(base / "root/was/notes")
    notes.symlink_to(base / "outside")
    with pytest.raises(OSError):  # noqa: PT011 - the number differs between systems
        source_roots.read(notes, "secret.md")


async def test_links_in_a_source_are_skipped(base: Path, tenant: Tenant) -> None:
    notes = base / "root/ana/notes"
    for name, target in (("deep", "outside"), ("file.md", "outside/secret.md"), ("own.md", "root/ana/notes/a.md")):
        source_folder.link(notes / name, base / target)
    added = await source_folder.add(tenant, notes)
    state = await source_folder.synced(tenant, added)
    linked = {"link": {"count": 3, "examples": ["deep/", "file.md", "own.md"]}}
    assert (source_folder.counts(state), state.result["left_out"]) == ({"added": 1}, linked)
    assert list(await source_folder.ids(tenant)) == [(notes / "a.md").as_uri()]


@pytest.mark.parametrize("pattern", ["", " ", "../*.md", "a/../b", "a\nb", "a\0", "a\\", "[z-a]*.md"])
def test_patterns_that_match_nothing_in_the_folder_are_refused(pattern: str) -> None:
    with pytest.raises(errors.BadRequest) as raised:
        source_scan.check_globs([pattern])
    assert raised.value.field == "globs"


@pytest.mark.parametrize("name", ["a b.md", "a*.md", "[a].md", "what?.md", "!a.md", "#a.md", "a\\b.md"])
def test_the_name_of_a_file_matches_only_that_file(tmp_path: Path, name: str) -> None:
    for other in (name, "axb.md", f"deep/{name}", "a.md"):
        source_folder.write(tmp_path, other, b"Lime.")
    draft = SourceDraft(str(tmp_path), (source_scan.literal(name),))
    assert list(source_scan.scan(draft, taken={}).files) == [name]


def test_files_of_a_folder_that_cannot_be_read_are_not_gone(tmp_path: Path) -> None:
    job_id, other = uuid4(), uuid4()
    paths = ("deep/a.md", "deeper/b.md", "c.md")
    known = {path: KnownFile(path, 1, 1, b"h", 1, None, other, stored=1) for path in paths}
    found = Scan({"c.md": FoundFile("c.md", 1, 1)}, [FileFailure("deep", "Permission denied.")], ["deep"])
    plan = source_scan.compare(SourceDraft(str(tmp_path)), found, known, job_id)
    assert [file.path for file in plan.removed] == ["deeper/b.md"]
    assert (plan.unchanged, [failure.path for failure in plan.failures]) == (1, ["deep"])
    nothing = Scan({}, [FileFailure(".", "Stale file handle.")], [""])
    assert source_scan.compare(SourceDraft(str(tmp_path)), nothing, known, job_id).removed == []
