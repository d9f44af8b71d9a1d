"""The verifier of a password is the one that Postgres computes."""

from __future__ import annotations

from app.database.schema import roles


def test_the_verifier_is_the_one_of_rfc_7677():
    """RFC 7677, section 3: user `user`, password `pencil`; the server's signature there comes from this server key."""
    import hashlib
    import hmac
    from base64 import b64decode, b64encode

    made = roles.verifier("pencil", b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="))
    head, _, keys = made.rpartition("$")
    assert head == "SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ=="
    exchanged = (
        b"n=user,r=rOprNGfwEbeRWgbNEkqO,"
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,"
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    )
    stored_key, server_key = (b64decode(part) for part in keys.split(":"))
    assert b64encode(hmac.digest(server_key, exchanged, "sha256")) == b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    proof = b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signature = hmac.digest(stored_key, exchanged, "sha256")
    client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == stored_key
