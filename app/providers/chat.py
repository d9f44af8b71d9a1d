"""Asks a chat model for search terms over HTTP: any OpenAI-compatible endpoint, or Ollama."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.providers import endpoint, prompts
from app.providers.breaker import ProviderModel
from app.providers.policy import CallLimits, CallPolicy


class ChatLlm:
    """A model behind one endpoint, whose API is chosen by `kind`."""

    def __init__(
        self,
        *,
        kind: Literal["openai", "ollama"],
        url: str,
        model: str,
        api_key: str | None = None,
        limits: CallLimits = CallLimits(4.0),
    ) -> None:
        self._kind = kind
        self._model = model
        self._endpoint = endpoint.Endpoint("The language model", url=url, headers=endpoint.bearer(api_key))
        self.policy = CallPolicy(ProviderModel("llm", kind, model), limits)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose terms. Raises ProviderError."""
        path, body = self._request(*prompts.messages(query, passages))
        key = (query, *passages)
        answer = await self.policy.shared(key, lambda: self._endpoint.post(path, body))
        return prompts.parse(self._content(answer))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    def _request(self, system: str, user: str) -> tuple[str, dict[str, Any]]:
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        body: dict[str, Any] = {"model": self._model, "messages": messages}
        if self._kind == "ollama":
            options = {"temperature": 0, "num_predict": prompts.MAX_TOKENS}
            return "api/chat", {**body, "stream": False, "format": prompts.SCHEMA, "options": options}
        limits = {"temperature": 0, "max_tokens": prompts.MAX_TOKENS}
        return "chat/completions", {**body, **limits, "response_format": {"type": "json_object"}}

    def _content(self, answer: Any) -> object:
        try:
            message = answer["message"] if self._kind == "ollama" else answer["choices"][0]["message"]
            return message["content"]
        except (KeyError, IndexError, TypeError) as error:
            message = "The language model's answer does not follow its API."
            raise errors.ProviderError(message, fault="answer") from error
