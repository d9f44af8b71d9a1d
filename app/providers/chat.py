"""How is a chat model behind HTTP asked for terms: any OpenAI-compatible endpoint, or Ollama?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.providers import asking
from app.providers.endpoint import Endpoint


class ChatLlm:
    """Asks one endpoint, in the shape of its `kind`."""

    def __init__(
        self,
        *,
        kind: Literal["openai", "ollama"],
        url: str,
        model: str,
        api_key: str | None = None,
        timeout_s: float = 4.0,
    ) -> None:
        self._kind = kind
        self._model = model
        self._endpoint = Endpoint("The language model", url=url, api_key=api_key, timeout_s=timeout_s)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose terms. Raises ProviderError."""
        path, body = self._request(*asking.messages(query, passages))
        return asking.proposed(self._answer(await self._endpoint.ask(path, body)))

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._endpoint.aclose()

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
