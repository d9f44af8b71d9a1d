"""Hypothesis profile without deadlines: property tests check results, not the speed of the machine."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
