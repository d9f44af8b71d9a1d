"""Asks Gemini for search terms."""

from __future__ import annotations

from collections.abc import Sequence

from google import genai
from google.genai import errors as genai_errors
from google.genai import types

from app.providers import breaker, prompts

MODEL = "gemini-2.5-flash-lite"


class GeminiLlm:
    """A Gemini model with a response schema. `url` replaces Google's address, for a gateway.

    `timeout_s` limits a whole call.
    """

    def __init__(self, *, api_key: str, model: str = MODEL, url: str | None = None, timeout_s: float = 4.0) -> None:
        self._model = model
        options = types.HttpOptions(base_url=url, timeout=int(timeout_s * 1000))
        self._client = genai.Client(api_key=api_key, vertexai=False, http_options=options)
        self.breaker = breaker.Breaker(breaker.ProviderModel("llm", "gemini", model), timeout_s=timeout_s)

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    async def terms(self, query: str, passages: Sequence[str]) -> list[object]:
        """Propose terms. Raises ProviderError."""
        system, user = prompts.messages(query, passages)
        config = types.GenerateContentConfig(
            system_instruction=system,
            response_mime_type="application/json",
            response_json_schema=prompts.SCHEMA,
            temperature=0.0,
            max_output_tokens=prompts.MAX_TOKENS,
        )
        async with self.breaker.guard():
            answer = await self._generate(user, config)
        return prompts.parse(answer)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aio.aclose()

    async def _generate(self, contents: str, config: types.GenerateContentConfig) -> str | None:
        try:
            models = self._client.aio.models
            answer = await models.generate_content(model=self._model, contents=contents, config=config)
            return answer.text
        except genai_errors.APIError as error:
            headers = getattr(error.response, "headers", {})
            raise breaker.down(error.code, headers, f"Gemini answered with status {error.code}.") from error
        except Exception as error:  # the package raises whatever its HTTP client raises
            raise breaker.ProviderDown("Gemini could not be reached or its answer not read.") from error
