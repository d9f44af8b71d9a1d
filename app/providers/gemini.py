"""How is Gemini asked for terms?"""

from __future__ import annotations

from collections.abc import Sequence

from google import genai
from google.genai import errors as foreign
from google.genai import types

from app import errors
from app.providers import asking, pausing

MODEL = "gemini-2.5-flash-lite"


class GeminiLlm:
    """Asks Gemini with a response schema. `url` is another address than Google's, for a gateway.

    After a 429 or 503 it is left alone for as long as its Retry-After says, at most a minute.
    """

    def __init__(self, *, api_key: str, model: str = MODEL, url: str | None = None, timeout_s: float = 4.0) -> None:
        self._model = model
        self._pause = pausing.Pause()
        options = types.HttpOptions(base_url=url, timeout=int(timeout_s * 1000))
        self._client = genai.Client(api_key=api_key, vertexai=False, http_options=options)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose terms. Raises ProviderError."""
        if self._pause.lasts:
            raise errors.ProviderError("The language model asked to be left alone for a while.")
        task, data = asking.messages(query, passages)
        config = types.GenerateContentConfig(
            system_instruction=task,
            response_mime_type="application/json",
            response_json_schema=asking.SCHEMA,
            temperature=0.0,
            max_output_tokens=asking.MOST_TOKENS,
        )
        try:
            answer = await self._client.aio.models.generate_content(model=self._model, contents=data, config=config)
            text = answer.text
        except foreign.APIError as error:
            self._pause.note(error.code, getattr(error.response, "headers", {}))
            raise errors.ProviderError("Gemini refused the question.") from error
        except Exception as error:  # its package raises what its HTTP client of the day raises
            raise errors.ProviderError("Gemini could not be asked.") from error
        return asking.proposed(text)

    async def aclose(self) -> None:
        """Give the connections back."""
        await self._client.aio.aclose()
