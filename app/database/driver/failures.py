"""Defines the errors of an unresponsive server and of a standby, and the messages of read-only and outdated servers."""

from __future__ import annotations

from app import errors

READ_ONLY = (
    "The database of this service is read-only (a standby, or default_transaction_read_only): send writes to a service "
    "whose DATABASE_URL names the primary."
)
BEHIND = (
    "The standby has not replayed the version in X-Stepwell-Version yet and the primary cannot be asked: try again "
    "shortly, or leave the header out to accept an older state."
)
CONFLICT = "The standby cancelled the read in favour of a change of the primary; try again."


class Unresponsive(errors.DatabaseUnavailable):
    """The server did not answer within a limit on the client's side."""


class RecoveryConflict(errors.ConnectionLost):
    """A standby cancelled a read because it conflicts with a change of the primary that is to be replayed."""


class Rerouted(errors.ConnectionLost):
    """A server failed or cancelled a read, and the next one goes to another server, which can repeat it."""


class StandbyBehind(errors.DatabaseUnavailable):
    """The only server that can be reached is a standby without the version that the client has seen."""

    code = "standby_behind"
