"""Describes in the OpenAPI document how requests are authenticated.

The header fields are no parameters of dependencies: FastAPI would resolve these for every request, after `StrictRoute`
has authenticated it.
"""

from __future__ import annotations

from fastapi.security import APIKeyHeader, HTTPBearer

_DESCRIPTION = "An API key, a token signed with one, or the local token."
BEARER = HTTPBearer(auto_error=False, description=_DESCRIPTION)
API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description=_DESCRIPTION)
REQUIREMENT: list[dict[str, list[str]]] = [{BEARER.scheme_name: []}, {API_KEY.scheme_name: []}]
"""The `security` of an operation that needs either."""
SCHEMES = {
    one.scheme_name: one.model.model_dump(mode="json", by_alias=True, exclude_none=True) for one in (BEARER, API_KEY)
}
