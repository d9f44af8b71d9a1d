"""Checks the names of users."""

from __future__ import annotations

from app import errors

MAX_USER_LENGTH = 200


def check_user(user_id: str) -> None:
    """Raises BadRequest if the user name is blank, too long or not printable."""
    if not user_id.strip() or len(user_id) > MAX_USER_LENGTH or not user_id.isprintable():
        raise errors.BadRequest(f"A user is 1 to {MAX_USER_LENGTH} printable characters.", field="user")
