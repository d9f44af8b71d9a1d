"""Verifies short-lived tokens that a holder of a key signs without asking the service.

A token is a JWT (RFC 7519) that is signed with Ed25519. The private and the public half of the signing key are derived
from the secret of the API key. Only the public half is stored, so nobody can sign with what a database or a backup
contains. The header of a token names its API key. A token never allows more than the scopes and filters of that key.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from app import errors

# The libraries are imported by the first token or key: they take 9 MB, and most services read neither.
if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

ALGORITHM = "EdDSA"
MAX_LENGTH = 6_000
"""Characters of a token; the headers of a request may have 16 KiB."""
MAX_LIFETIME_S = 86_400
SKEW_S = 30
"""Difference of the clocks of the signer and the service that is allowed for."""
SCOPES = ("search", "write")
_KEY_ID = re.compile(r"[0-9a-f]{12}")
_INFO = b"stepwell token signing key v1"
_USAGE = (
    "A token has the claims `iat` and `exp`, in seconds since 1970. It may have `nbf`, `sub` (a text), "
    "`scopes` (search, write), `filters` (an object with a condition) and `entities` (true or false)."
)
_INVALID = "This token is invalid, or signed with a key that is unknown, revoked or expired."


class Claims(BaseModel):
    """What a token asks for: scopes, filters as JSON, and descriptions of entities; empty or None if it says nothing.

    An unknown claim is refused, because a misspelt `filters` would show everything.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    iat: float
    exp: float
    nbf: float = 0.0
    sub: str = ""
    scopes: Annotated[list[Literal["search", "write"]], Field(min_length=1)] = []
    filters: Annotated[dict[str, Any], Field(min_length=1)] = {}
    entities: bool | None = None


def private_half(secret: str) -> Ed25519PrivateKey:
    """The Ed25519 key that signs tokens, derived from the secret of an API key (HKDF-SHA256, RFC 5869)."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    derive = HKDF(algorithm=hashes.SHA256(), length=32, salt=None, info=_INFO)
    return Ed25519PrivateKey.from_private_bytes(derive.derive(secret.encode()))


def public_half(secret: str) -> bytes:
    """The public half of the key from `private_half`, 32 bytes. It verifies tokens."""
    return private_half(secret).public_key().public_bytes_raw()


def is_token(presented: str) -> bool:
    """Whether what was presented has the form of a token."""
    return presented.count(".") == 2


def key_id_of(token: str) -> str:
    """The id of the key that a token says it is signed with. Raises Unauthorized."""
    import jwt

    if len(token) > MAX_LENGTH:
        raise errors.Unauthorized(f"A token has at most {MAX_LENGTH:,} characters.")
    try:
        header = jwt.get_unverified_header(token)
    except jwt.PyJWTError as error:
        raise errors.Unauthorized(_INVALID) from error
    key_id = header.get("kid")
    is_id = isinstance(key_id, str) and _KEY_ID.fullmatch(key_id)
    if header.get("alg") != ALGORITHM or not is_id or set(header) - {"alg", "typ", "kid"}:
        raise errors.Unauthorized(_INVALID)
    return str(key_id)


def claims_of(token: str, public: bytes) -> Claims:
    """The claims of a token whose signature the public half verifies. Raises Unauthorized."""
    import jwt
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        key = Ed25519PublicKey.from_public_bytes(public)
        options: Any = dict.fromkeys((f"verify_{claim}" for claim in ("exp", "iat", "nbf", "aud", "sub", "jti")), False)
        claims = Claims.model_validate(jwt.decode(token, key, algorithms=[ALGORITHM], options=options))
    except ValidationError as error:
        raise errors.Unauthorized(_USAGE) from error
    except (jwt.PyJWTError, ValueError) as error:
        raise errors.Unauthorized(_INVALID) from error
    now = datetime.now(UTC)
    if claims.exp <= now.timestamp() - SKEW_S or max(claims.iat, claims.nbf) > now.timestamp() + SKEW_S:
        state = "has expired" if claims.exp <= now.timestamp() else "is not valid yet"
        raise errors.Unauthorized(f"This token {state}: the service's clock says {now.isoformat(timespec='seconds')}.")
    if claims.exp - claims.iat > MAX_LIFETIME_S:
        raise errors.Unauthorized("A token may live a day: `exp` is at most 86,400 seconds after `iat`.")
    return claims
