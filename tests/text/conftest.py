"""Property tests judge answers, not the speed of the machine that runs them."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
