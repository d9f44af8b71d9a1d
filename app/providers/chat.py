"""Asks a chat model what to search for next over HTTP: any OpenAI-compatible endpoint, or Ollama."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.providers import endpoint, prompts
from app.providers.base import Proposal
from app.providers.breaker import ProviderModel
from app.providers.policy import CallLimits, CallPolicy

log = logging.getLogger(__name__)

OPENAI_OPTIONS: tuple[dict[str, Any], ...] = (
    {"temperature": 0, "max_tokens": prompts.MAX_TOKENS, "response_format": {"type": "json_object"}},
    {"temperature": 0, "max_tokens": prompts.MAX_TOKENS},
    {"max_completion_tokens": prompts.MAX_REASONING_TOKENS, "response_format": {"type": "json_object"}},
    {},
)
"""Options of a request, tried in this order: servers refuse what their model does not support with status 400."""
OLLAMA_OPTIONS: tuple[dict[str, Any], ...] = (
    {"stream": False, "format": prompts.SCHEMA, "options": {"temperature": 0, "num_predict": prompts.MAX_TOKENS}},
    {"stream": False},
)


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
        self._path = "api/chat" if kind == "ollama" else "chat/completions"
        self._options = OLLAMA_OPTIONS if kind == "ollama" else OPENAI_OPTIONS
        self._accepted = 0
        self._endpoint = endpoint.Endpoint("The language model", url=url, headers=endpoint.bearer(api_key))
        self.policy = CallPolicy(ProviderModel("llm", kind, model), limits)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """Propose terms and questions. Raises ProviderError."""
        system, user = prompts.messages(query, passages)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        answer = await self.policy.shared((query, *passages), lambda: self._answer(messages))
        return prompts.parse(self._content(answer))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _answer(self, messages: list[dict[str, str]]) -> Any:
        """The response to the messages, with the first options that the server accepts; those are kept for later."""
        for number in range(self._accepted, len(self._options)):
            body = {"model": self._model, "messages": messages, **self._options[number]}
            try:
                answer = await self._endpoint.post(self._path, body)
            except errors.ProviderError as error:
                if error.fault != "request" or number + 1 == len(self._options):
                    raise
                log.info("retrying with fewer options: %s", error, extra={"action": "llm_options_refused"})
            else:
                self._accepted = number
                return answer
        raise AssertionError("unreachable")

    def _content(self, answer: Any) -> object:
        try:
            message = answer["message"] if self._kind == "ollama" else answer["choices"][0]["message"]
            return message["content"]
        except (KeyError, IndexError, TypeError) as error:
            message = "The language model's answer does not follow its API."
            raise errors.ProviderError(message, fault="answer") from error
