"""How is a chat model behind HTTP asked for terms: any OpenAI-compatible endpoint, or Ollama?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import httpx

from app import errors
from app.providers import asking, pausing


class ChatLlm:
    """Asks one endpoint. After a 429 or 503 it is left alone for as long as its Retry-After says, at most a minute."""

    def __init__(
        self,
        *,
        kind: Literal["openai", "ollama"],
        url: str,
        model: str,
        api_key: str | None = None,
        timeout_s: float = 4.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._kind = kind
        self._model = model
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/") + "/", headers=headers, timeout=timeout_s, transport=transport, trust_env=False
        )
        self._pause = pausing.Pause()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose terms. Raises ProviderError."""
        if self._pause.lasts:
            raise errors.ProviderError("The language model asked to be left alone for a while.")
        path, body = self._request(*asking.messages(query, passages))
        try:
            response = await self._client.post(path, json=body)
            self._pause.note(response.status_code, response.headers)
            response.raise_for_status()
            told = response.json()
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise errors.ProviderError("The language model could not be asked.") from error
        return asking.proposed(self._answer(told))

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._client.aclose()

    def _request(self, task: str, data: str) -> tuple[str, dict[str, Any]]:
        messages = [{"role": "system", "content": task}, {"role": "user", "content": data}]
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._kind == "ollama":
            options = {"temperature": 0, "num_predict": asking.MOST_TOKENS}
            return "api/chat", {**body, "stream": False, "format": asking.SCHEMA, "options": options}
        limits = {"temperature": 0, "max_tokens": asking.MOST_TOKENS}
        return "chat/completions", {**body, **limits, "response_format": {"type": "json_object"}}

    def _answer(self, told: Any) -> object:
        try:
            message = told["message"] if self._kind == "ollama" else told["choices"][0]["message"]
            return message["content"]
        except (KeyError, IndexError, TypeError) as error:
            raise errors.ProviderError(
                "The language model answered in another shape than its interface has."
            ) from error
