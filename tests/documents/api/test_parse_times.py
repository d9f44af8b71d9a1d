"""A user's files are parsed for a limited time, which becomes available again as time passes."""

from __future__ import annotations

import pytest

from app import errors
from app.documents.api.parse_times import ParseTimes
from app.documents.files.file_reading import ParseLimits

LIMITS = ParseLimits(request_s=300.0)


def test_a_user_whose_files_took_all_the_time_waits_and_others_do_not() -> None:
    now = [1_000.0]
    times = ParseTimes(user_s=400.0, clock=lambda: now[0])
    for left_s in (300.0, 100.0):
        with times.share("ana", LIMITS) as share:
            assert share.seconds == left_s
            share.used_s = 300.0
    with pytest.raises(errors.RequestRefused, match="took 400 seconds") as refused, times.share("ana", LIMITS):
        pass
    assert refused.value.retry_after_s == 201
    with times.share("ben", LIMITS) as share:
        assert share.seconds == 300.0
    now[0] += 201.0
    with times.share("ana", LIMITS) as share:
        assert share.seconds == 1.0
