"""Asks a chat model what to search for next, or for entities, over HTTP: any OpenAI-compatible endpoint, or Ollama."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

from app import errors
from app.models.base import Proposal
from app.models.calls import CallTimes, ProviderModel, RemoteCalls
from app.models.remote import endpoint, prompts
from app.models.remote.prompts import Task

log = logging.getLogger(__name__)

Kind = Literal["openai", "ollama"]


def _options(kind: Kind, task: Task) -> tuple[dict[str, Any], ...]:
    """Options of a request, tried in this order: servers refuse what their model does not support with status 400."""
    if kind == "ollama":
        generated = {"temperature": 0, "num_predict": task.max_tokens}
        return {"stream": False, "format": task.schema, "options": generated}, {"stream": False}
    as_json = {"response_format": {"type": "json_object"}}
    limited = {"temperature": 0, "max_tokens": task.max_tokens}
    return {**limited, **as_json}, limited, {"max_completion_tokens": task.reasoning_tokens, **as_json}, {}


class ChatLlm:
    """A model behind one endpoint, whose API is chosen by `kind`."""

    def __init__(
        self,
        *,
        kind: Kind,
        url: str,
        model: str,
        api_key: str | None = None,
        times: CallTimes = CallTimes(4.0),
    ) -> None:
        self._kind = kind
        self.name = model
        self._path = "api/chat" if kind == "ollama" else "chat/completions"
        self._accepted = 0
        self._endpoint = endpoint.Endpoint("The language model", url=url, api_key=api_key)
        self.calls = RemoteCalls(ProviderModel("llm", kind, model), times)

    async def propose(self, query: str, passages: Sequence[str]) -> Proposal:
        """Propose terms and questions. Raises ProviderError."""
        task = prompts.proposal_task(query, passages)
        answer = await self.calls.query(lambda: self._answer(task))
        return prompts.parse(self._content(answer))

    async def entities(self, text: str) -> list[object]:
        """Name the entities in a text. Raises ProviderError."""
        task = prompts.entity_task(text)
        answer = await self.calls.bulk(lambda: self._answer(task, bulk=True))
        return prompts.parse_entities(self._content(answer))

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _answer(self, task: Task, *, bulk: bool = False) -> Any:
        """The response to a task, with the first options that the server accepts; those are kept for later."""
        messages = [{"role": "system", "content": task.system}, {"role": "user", "content": task.user}]
        options = _options(self._kind, task)
        for number in range(self._accepted, len(options)):
            body = {"model": self.name, "messages": messages, **options[number]}
            try:
                answer = await self._endpoint.post(self._path, body, bulk=bulk)
            except errors.ProviderError as error:
                if error.fault != "request" or number + 1 == len(options):
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
