"""Lets a client see what it has stored: every answer names the user's version, and a read is at least as new as asked.

`X-Stepwell-Version` of a response is the number of changes of the user's data in the snapshot that it was read from, or
after the write that it answers. A request that sends it back, to any process, is not answered from an older state.
"""

from __future__ import annotations

import re

from fastapi import Request

from app import errors
from app.database.filter_types import Restriction
from app.database.pools import ReadRoute
from app.services import Services

HEADER = "X-Stepwell-Version"
_FORM = re.compile("^[0-9]{1,18}$")


def required(request: Request) -> int:
    """The version that the client has seen; 0 without the header. Raises BadRequest."""
    sent = request.headers.get(HEADER)
    if sent is None:
        return 0
    if not _FORM.fullmatch(sent):
        raise errors.BadRequest("Send the value of an earlier response unchanged: 1 to 18 digits.", field=HEADER)
    return int(sent)


def services(request: Request, *, only_reads: bool) -> Services:
    """The opened services for a request, which show what its caller sees. One that only reads may use another server.

    The reads of other requests decide what they write, so they are on the primary. The caller is authenticated. Raises
    BadRequest.
    """
    opened: Services = request.app.state.services
    route: ReadRoute | None = getattr(request.state, "read_route", None)
    if route is None:
        request.state.read_route = route = opened.db.reads.new(required=required(request))
    found = opened.for_request(route, only_reads=only_reads)
    restriction: Restriction | None = request.state.caller.restriction
    return found if restriction is None else found.restricted(restriction)


async def writing(request: Request) -> Services:
    """A dependency: the services of a request that may write."""
    return services(request, only_reads=False)


async def reading(request: Request) -> Services:
    """A dependency: the services of a request that only reads."""
    return services(request, only_reads=True)
