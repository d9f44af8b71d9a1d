"""Signs short-lived tokens with a key, for the users of an application that holds it, without asking the service.

    from stepwell_client import Client, tokens

    token = tokens.mint(key, filters={"metadata": {"acl": {"in": ["ana", "everyone"]}}}, minutes=15)
    with Client("https://search.example.org", api_key=token) as stepwell:
        ...

A token sees what passes its filters and those of the key. It needs the extra `tokens`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

_FORM = re.compile(r"sw_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
_INFO = b"stepwell token signing key v1"
MAX_MINUTES = 24 * 60


def mint(
    key: str,
    *,
    filters: Mapping[str, Any] | None = None,
    scopes: Sequence[str] | None = None,
    minutes: float = 15,
    entities: bool | None = None,
    subject: str | None = None,
) -> str:
    """A token that is signed with an API key.

    `filters` are those of a search; without them the token sees what the key sees. `scopes` are `search` and `write`,
    by default those of the key. `entities` shows descriptions and facts of the visible entities. `subject` is a name
    for the application's own logs. Raises ValueError for a key of another form, or more than a day.
    """
    import jwt
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    form = _FORM.fullmatch(key)
    if form is None:
        raise ValueError("The key has another form than sw_<id>_<secret>.")
    if not 0 < minutes <= MAX_MINUTES:
        raise ValueError("A token lives at most a day.")
    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_INFO)
    signer = Ed25519PrivateKey.from_private_bytes(derive.derive(form[2].encode()))
    now = int(time.time())
    given = {
        "filters": None if filters is None else dict(filters),
        "scopes": None if scopes is None else list(scopes),
        "entities": entities,
        "sub": subject,
    }
    claims = {"iat": now, "exp": now + round(minutes * 60), **{k: v for k, v in given.items() if v is not None}}
    return jwt.encode(claims, signer, algorithm="EdDSA", headers={"kid": form[1]})
