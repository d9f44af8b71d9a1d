"""Patterns of paths match what pathspec matches, in linear time."""

import re
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec, PathSpec

from app.documents.files import folders

IN_PATTERN = [*"ab**?/-.(+\u00e9", "**", "/**/", r"\*", r"\[", "[ab]", "[]a]", "[a"]
IN_PATH = [*"abab//*[-.(+\u00e9]"]
Make = Callable[[Sequence[str], Any], PathSpec[Any]]
KINDS: dict[str, tuple[Make, Any]] = {
    "glob": (lambda lines, kind: PathSpec.from_lines(kind or "gitignore", lines), folders.GlobPattern),
    "rule": (lambda lines, kind: GitIgnoreSpec.from_lines(lines, kind), folders._RulePattern),
}


@pytest.mark.parametrize("kind", KINDS)
@given(pattern=st.lists(st.sampled_from(IN_PATTERN), min_size=1, max_size=9).map("".join), data=st.data())
def test_a_pattern_matches_the_paths_that_it_matches_in_pathspec(kind: str, pattern: str, data: st.DataObject) -> None:
    path = re.sub("/+", "/", "".join(data.draw(st.lists(st.sampled_from(IN_PATH), min_size=1, max_size=12)))).strip("/")
    make, own = KINDS[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sets of characters that begin like operators
        try:
            expected = make([pattern], None)
        except (ValueError, re.error) as refused:
            with pytest.raises(type(refused)):
                make([pattern], own)
            return
        assert make([pattern], own).check_file(path or "a").include == expected.check_file(path or "a").include


@pytest.mark.parametrize("repeated", ["*?", "*a", "**/*/", "**/a/", "**/*a*a*/", "a**", "[ab]*"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_pattern_with_many_stars_takes_no_longer_than_others(kind: str, repeated: str) -> None:
    make, own = KINDS[kind]
    spec, began = make([repeated * 40 + "*z"], own), time.thread_time()
    for path in ("a" * 250, "/".join("a" * 120), "/".join(["aaaaaaaa"] * 30)):
        assert not spec.match_file(path)
    assert time.thread_time() - began < 1
