"""A token grants what its key grants or less, for a day at most, and only with the signature of its key."""

import hmac
import math
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import harness
import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from stepwell_client import tokens as client_tokens

from app.access import keys, tokens
from app.access.store import keys as stored_keys

TIDE, REEF = {"metadata": {"team": "tide"}}, {"metadata": {"team": "reef"}}


def _in(seconds: int) -> int:
    """A time so many seconds from now."""
    return int(time.time()) + seconds


def mint(key: str, *, signed_by: str | None = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
    """A token of a key, by default valid for a minute; a claim of None is left out."""
    key_id = key.split("_", 2)[1]
    every = {"iat": _in(0), "exp": _in(60), **claims}
    signer = tokens.private_half((signed_by or key).split("_", 2)[2])
    kept = {name: value for name, value in every.items() if value is not None}
    return jwt.encode(kept, signer, algorithm="EdDSA", headers={"kid": key_id, **(header or {})})


@pytest.fixture(scope="module")
async def world(app, database):
    """A user with a document of each team, a key that sees all, one that sees a team, and a client without a key."""
    user = harness.new_user()
    full = await harness.create_key(database, user)
    tide = await harness.create_key(database, user, "search", filters=TIDE)
    async with harness.client(app) as client:
        for team in ("tide", "reef"):
            body = {"content": f"The {team} lantern burns.", "uri": team, "metadata": {"team": team, "year": 2024}}
            stored = await client.post("/api/rag/documents", json=body, headers=_bearer(full))
            assert stored.status_code == 201
        yield client, full, tide


def _bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def _uris(client: httpx.AsyncClient, token: str) -> list[str]:
    listed = await client.get("/api/rag/documents", headers=_bearer(token))
    assert listed.status_code == 200, listed.text
    return sorted(document["uri"] for document in listed.json()["documents"])


async def test_a_token_sees_what_passes_its_filters_and_those_of_its_key(world):
    client, full, tide = world
    assert await _uris(client, mint(full)) == ["reef", "tide"]
    assert await _uris(client, mint(full, filters=REEF)) == ["reef"]
    assert await _uris(client, mint(tide)) == ["tide"]
    assert await _uris(client, mint(tide, filters=REEF)) == []
    assert await _uris(client, mint(tide, filters={"metadata": {"year": {"gte": 2020}}}, sub="user 7")) == ["tide"]


async def test_the_client_mints_tokens_without_a_request(world):
    client, full, tide = world
    assert await _uris(client, client_tokens.mint(full, filters=REEF, scopes=["search"], subject="user 7")) == ["reef"]
    assert await _uris(client, client_tokens.mint(tide, minutes=24 * 60)) == ["tide"]
    for key, minutes in (("sw_1", 15), (full, 24 * 60 + 1), (full, 0)):
        with pytest.raises(ValueError, match=r"form|day"):
            client_tokens.mint(key, minutes=minutes)


async def test_a_token_has_no_scope_that_its_key_lacks(world):
    client, full, tide = world
    document = {"content": "The dune burns.", "metadata": {"team": "tide"}}
    for token, status in ((mint(full, scopes=["search"], filters=TIDE), 403), (mint(tide), 403), (mint(full), 201)):
        response = await client.post("/api/rag/documents", json=document, headers=_bearer(token))
        assert response.status_code == status
    for claims in ({"scopes": ["write"]}, {"scopes": ["search", "write"]}, {"entities": True}):
        assert (await client.get("/api/rag/stats", headers=_bearer(mint(tide, **claims)))).status_code == 401
    admin = await client.get("/metrics", headers=_bearer(mint(full)))
    assert admin.status_code == 403


def _unsigned(key: str) -> str:
    return jwt.encode({"iat": _in(0), "exp": _in(60)}, None, algorithm="none", headers={"kid": key.split("_")[1]})


def _by_public_half(key: str) -> str:
    """A token whose signature is an HMAC with the public half as its secret, which the database holds."""
    secret, claims = tokens.public_half(key.split("_", 2)[2]), {"iat": _in(0), "exp": _in(60)}
    return jwt.encode(claims, secret, algorithm="HS256", headers={"kid": key.split("_")[1]})


REFUSED: dict[str, Callable[[str, str], str]] = {
    "unsigned": lambda full, tide: _unsigned(full),
    "an HMAC with the public half": lambda full, tide: _by_public_half(full),
    "signed with another key": lambda full, tide: mint(full, signed_by=tide),
    "a key in the header": lambda full, tide: mint(full, header={"jwk": {"kty": "OKP"}}),
    "no kid": lambda full, tide: mint(full, header={"kid": ""}),
    "an unknown key": lambda full, tide: mint("sw_0123456789ab_" + full.split("_", 2)[2]),
    "no expiry": lambda full, tide: mint(full, exp=None),
    "no time of issue": lambda full, tide: mint(full, iat=None),
    "expired": lambda full, tide: mint(full, iat=_in(-600), exp=_in(-300)),
    "longer than a day": lambda full, tide: mint(full, exp=_in(2 * 86_400)),
    "issued in the future": lambda full, tide: mint(full, iat=_in(3_600), exp=_in(7_200)),
    "not valid yet": lambda full, tide: mint(full, nbf=_in(1_800), exp=_in(3_600)),
    "times as text": lambda full, tide: mint(full, exp=str(_in(60))),
    "an unknown claim": lambda full, tide: mint(full, filter=TIDE),
    "no condition": lambda full, tide: mint(full, filters={}),
    "unknown conditions": lambda full, tide: mint(full, filters={"metadate": {"team": "tide"}}),
    "filters of another type": lambda full, tide: mint(full, filters=[TIDE]),
    "no scope": lambda full, tide: mint(full, scopes=[]),
    "the scope admin": lambda full, tide: mint(full, scopes=["admin"]),
    "an id with NUL": lambda full, tide: mint(full, header={"kid": "0123456789a\x00"}),
    "an id with a lone surrogate": lambda full, tide: mint(full, header={"kid": "\ud800"}),
    "no end": lambda full, tide: mint(full, exp=math.nan),
    "no beginning": lambda full, tide: mint(full, iat=math.nan, exp=math.nan),
    "not valid before no time": lambda full, tide: mint(full, nbf=math.nan),
    "a number that is none": lambda full, tide: mint(full, filters={"metadata": {"year": math.nan}}),
    "an infinite number": lambda full, tide: mint(full, filters={"metadata": {"year": {"gte": -math.inf}}}),
    "a number of 400 digits": lambda full, tide: mint(full, filters={"metadata": {"year": 10**400}}),
    "a text with NUL": lambda full, tide: mint(full, filters={"not": {"uri_prefix": "a\x00"}}),
    "a key with NUL": lambda full, tide: mint(full, filters={"metadata": {"a": {"b\x00": 1}}}),
    "oversized": lambda full, tide: mint(full, filters={"metadata": {"team": "x" * tokens.MAX_LENGTH}}),
    "no token": lambda full, tide: "a.b.c",
    "changed": lambda full, tide: mint(full)[:-4] + "AAAA",
}


@pytest.mark.parametrize("why", REFUSED)
async def test_a_token_that_is_not_exactly_right_is_refused(world, why):
    client, full, tide = world
    response = await client.get("/api/rag/stats", headers=_bearer(REFUSED[why](full, tide)))
    assert (response.status_code, response.json()["code"]) == (401, "unauthorized"), response.text


async def test_clocks_may_differ_by_half_a_minute(world):
    client, full, _tide = world
    for claims in ({"iat": 20}, {"iat": -60, "exp": -20}, {"exp": 86_400}):
        token = mint(full, **{name: _in(seconds) for name, seconds in claims.items()})
        response = await client.get("/api/rag/stats", headers=_bearer(token))
        assert response.status_code == 200, claims


async def test_a_token_of_another_time_is_told_the_time_of_the_service(world):
    client, full, _tide = world
    told = {"has expired": {"iat": _in(-90), "exp": _in(-60)}, "is not valid yet": {"iat": _in(90), "exp": _in(120)}}
    for state, claims in told.items():
        asked = datetime.now(UTC)
        response = await client.get("/api/rag/stats", headers=_bearer(mint(full, **claims)))
        detail = response.json()["detail"]
        assert detail.startswith(f"This token {state}: ")
        said = datetime.fromisoformat(detail.rpartition(" ")[2].rstrip("."))
        assert asked.replace(microsecond=0) <= said <= datetime.now(UTC)


@pytest.mark.parametrize("claims", [{"filter": TIDE}, {"aud": "stepwell"}, {"sub": 42}, {"jti": 7}])
async def test_a_token_whose_claims_are_wrong_is_told_which_there_are(world, claims):
    client, full, _tide = world
    response = await client.get("/api/rag/stats", headers=_bearer(mint(full, **claims)))
    assert response.json()["detail"].startswith("A token has the claims `iat` and `exp`")


async def test_a_token_signed_as_the_docs_say_is_accepted(world):
    client, full, _tide = world
    page = (Path(__file__).parents[3] / "docs" / "security.md").read_text(encoding="utf-8")
    info = re.search(r"HKDF-SHA256 of the secret, without salt, with the info `([^`]+)`", page)[1]
    _sw, key_id, secret = full.split("_", 2)
    extracted = hmac.digest(bytes(32), secret.encode(), "sha256")  # RFC 5869
    signer = Ed25519PrivateKey.from_private_bytes(hmac.digest(extracted, info.encode() + b"\x01", "sha256"))
    token = jwt.encode({"iat": _in(0), "exp": _in(60)}, signer, algorithm="EdDSA", headers={"kid": key_id})
    assert (await client.get("/api/rag/stats", headers=_bearer(token))).status_code == 200


async def test_tokens_end_with_their_key(world, database):
    client, _full, _tide = world
    user = harness.new_user()
    old = await harness.create_key(database, user, filters=TIDE)
    async with harness.as_owner(database) as owner:
        new = await keys.rotate(old, db=owner, grace=timedelta(days=1), actor="test")
        assert await _uris(client, mint(old)) == await _uris(client, mint(new, filters=REEF)) == []
        async with owner.shared() as reading:
            found = await stored_keys.live(reading, key_id=new.split("_")[1])
        assert (found.filters, found.token_key is not None) == (TIDE, True)
        await keys.revoke(old, db=owner, actor="test")
    assert (await client.get("/api/rag/stats", headers=_bearer(mint(old)))).status_code == 401
    assert (await client.get("/api/rag/stats", headers=_bearer(mint(new)))).status_code == 200


async def test_a_key_that_is_older_than_tokens_signs_none(world, owner):
    client, _full, tide = world
    await owner.execute("UPDATE stepwell.api_keys SET token_key = NULL WHERE key_id = $1", tide.split("_")[1])
    assert (await client.get("/api/rag/stats", headers=_bearer(mint(tide)))).status_code == 401
    assert (await client.get("/api/rag/stats", headers=_bearer(tide))).status_code == 200


async def test_only_the_public_half_is_stored(world, owner):
    _client, full, _tide = world
    secret = full.split("_", 2)[2]
    stored = await owner.fetchval("SELECT token_key FROM stepwell.api_keys WHERE key_id = $1", full.split("_")[1])
    private = tokens.private_half(secret)
    raw = serialization.Encoding.Raw, serialization.PrivateFormat.Raw, serialization.NoEncryption()
    assert stored == private.public_key().public_bytes_raw() != private.private_bytes(*raw)
    assert isinstance(private, Ed25519PrivateKey)
