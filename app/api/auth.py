"""Who asks?

`get_user_id` is the one dependency that every operation on a user's things goes through. With AUTH=none it is the user
`local`; with AUTH=local_token the same, for whoever sends the data folder's token; with AUTH=api_key the owner of the
key in `Authorization: Bearer` or `X-API-Key`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import APIKeyHeader, HTTPAuthorizationCredentials, HTTPBearer

from app import errors
from app.api import auditing
from app.pipelines import keys, local_token
from app.pipelines.services import Services

LOCAL_USER = "local"
_bearer = HTTPBearer(auto_error=False, description="An API key, or the local token.")
_header = APIKeyHeader(name="X-API-Key", auto_error=False, description="An API key, or the local token.")


async def services(request: Request) -> Services:
    """The parts that the application was started with. (Not `async`, it would cost every request a thread.)"""
    found: Services = request.app.state.services
    return found


class Scope:
    """A dependency that lets a caller pass whose key has the scope; `admin` includes the others."""

    def __init__(self, needed: str) -> None:
        self.needed = needed

    async def __call__(
        self,
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)] = None,
        header: Annotated[str | None, Security(_header)] = None,
    ) -> str:
        """The caller's user id. Raises Unauthorized, Forbidden."""
        if request.app.state.settings.auth == "none":
            return LOCAL_USER
        presented = bearer.credentials if bearer else header
        if not presented:
            raise errors.Unauthorized("Send a key or the local token as `Authorization: Bearer …` or `X-API-Key`.")
        if request.app.state.settings.auth == "local_token":
            local_token.check(presented, request.app.state.services.local_token)
            return LOCAL_USER
        key = await keys.recognise(presented, db=request.app.state.services.db)
        if not {self.needed, "admin"} & set(key.scopes):
            raise errors.Forbidden(f"This key lacks the scope `{self.needed}`.")
        auditing.count_use(request, key.key_id, self.needed)
        return key.user_id


Searcher = Annotated[str, Depends(Scope("search"))]
Writer = Annotated[str, Depends(Scope("write"))]
Use = Annotated[Services, Depends(services)]
