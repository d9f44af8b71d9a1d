"""Asks a chat model what to search for next, or for entities, over HTTP: any OpenAI-compatible endpoint, or Ollama."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any, Literal

from app import errors
from app.models.remote import endpoint
from app.models.remote.prompted_llm import PromptedLlm, Task
from app.models.remote_calls import CallTimes

log = logging.getLogger(__name__)

Kind = Literal["openai", "ollama"]
OLLAMA_MODEL = "llama3.2"
"""The model that Ollama is asked for by default."""


def _options(kind: Kind, task: Task) -> tuple[dict[str, Any], ...]:
    """Options of a request, tried in this order: a server answers with status 400 if its model does not support one."""
    if kind == "ollama":
        generated = {"temperature": 0, "num_predict": task.max_tokens}
        return {"stream": False, "format": task.schema, "options": generated}, {"stream": False}
    as_json = {"response_format": {"type": "json_object"}}
    limited = {"temperature": 0, "max_tokens": task.max_tokens}
    return {**limited, **as_json}, limited, {"max_completion_tokens": task.max_tokens, **as_json}, {}


class ChatLlm(PromptedLlm):
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
        super().__init__(kind, model, times)
        self._kind = kind
        self._path = "api/chat" if kind == "ollama" else "chat/completions"
        self._accepted = 0
        self._endpoint = endpoint.Endpoint("The language model", url=url, api_key=api_key)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def _answer(self, task: Task, *, bulk: bool) -> object:
        """The answer to a task, with the first options that the server accepts; those are kept for later.

        If it accepts none, nothing is kept: it may have refused them because, with the limit, this text is too long.
        """
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
                self._accepted = number if options[number] else self._accepted
                with suppress(KeyError, IndexError, TypeError):  # else an answer that does not follow the API
                    message = answer["message"] if self._kind == "ollama" else answer["choices"][0]["message"]
                    return message["content"]
                return None
        raise AssertionError("unreachable")
