"""Garbage collection is off while the modules of a command are imported, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from app.cli import imports


def _failing() -> None:
    with imports.without_collection():
        assert not gc.isenabled()
        raise ImportError


def test_collection_is_off_during_the_block_and_on_again_after_a_failure() -> None:
    with pytest.raises(ImportError):
        _failing()
    assert gc.isenabled()


def test_collection_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with imports.without_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
