"""The embedded Postgres chooses safe folders and sizes, and leaves existing folders as they are."""

import os
import stat
import sys
from pathlib import Path

import pytest

from app.database.embedded import embedded_files
from app.errors import EmbeddedServerError

OURS = embedded_files.Account(name="me", uid=os.geteuid(), gid=os.getegid(), client="me")


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_parent_folder_without_access_for_another_user_is_refused_and_keeps_its_permissions(tmp_path: Path) -> None:
    closed = tmp_path / "home"
    closed.mkdir(mode=0o700)
    other = embedded_files.Account(name="other", uid=os.geteuid() + 4242, gid=os.getegid() + 4242, client="me")
    with pytest.raises(EmbeddedServerError, match="STEPWELL_DATA_DIR"):
        embedded_files.prepare(embedded_files.Layout(closed / "data", tmp_path), other)
    assert _mode(closed) == 0o700


def test_an_existing_folder_of_our_own_user_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    layout = embedded_files.Layout(tmp_path / "new", tmp_path)
    embedded_files.prepare(layout, OURS)
    assert (_mode(tmp_path), _mode(tmp_path / "new"), _mode(layout.base)) == (0o750, 0o700, 0o700)


def test_a_folder_that_others_may_write_is_refused(tmp_path: Path) -> None:
    layout = embedded_files.Layout(tmp_path, tmp_path)
    layout.base.mkdir()
    layout.base.chmod(0o777)
    with pytest.raises(EmbeddedServerError, match="writable by others"):
        embedded_files.prepare(layout, OURS)


def test_a_planted_socket_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    for planted in ("link", "open"):
        with pytest.raises(EmbeddedServerError, match="not a private folder"):
            embedded_files.create_private_folder(tmp_path / planted, OURS)


def test_a_copy_that_belongs_to_another_user_is_kept_as_it_is_and_the_remedy_is_named(tmp_path: Path) -> None:
    copy = tmp_path / "data"
    copy.mkdir(mode=0o700)
    (copy / "PG_VERSION").write_text("18")
    other = embedded_files.Account(name="other", uid=os.geteuid() + 4242, gid=os.getegid() + 4242, client="me")
    with pytest.raises(EmbeddedServerError, match=r"run chown -R other '.*/data' and chmod 700") as raised:
        embedded_files.create_private_folder(copy, other)
    assert "remove" not in str(raised.value)
    assert copy.stat().st_uid == os.geteuid()


@pytest.mark.parametrize(
    ("env", "is_root", "expected"),
    [
        ({"HOME": "/home/ada"}, True, Path("/var/lib/stepwell")),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "/big"}, False, Path("/big/stepwell")),
        ({"HOME": "/home/ada", "XDG_DATA_HOME": "not/absolute"}, False, None),
    ],
)
def test_the_default_data_dir_follows_the_user(env: dict[str, str], is_root: bool, expected: Path | None) -> None:
    mac = Path("/home/ada/Library/Application Support/stepwell")
    usual = mac if sys.platform == "darwin" else Path("/home/ada/.local/share/stepwell")
    found = embedded_files.default_data_dir(env, is_root)
    assert found == (mac if sys.platform == "darwin" and not is_root else expected or usual)
