"""Client of a Stepwell service.

    from stepwell_client import Client

    with Client("http://127.0.0.1:8000") as stepwell:
        for hit in stepwell.search("Why do the buoys not report every minute?").results:
            print(hit.relevance, hit.title, hit.text)

`client.documents`, `entities`, `sources`, `jobs`, `synonyms` and `tools` group the other operations. `AsyncClient` has
the same methods as coroutines. The modules `langchain`, `llamaindex`, `pydantic_ai`, `adk` and
`openai_agents` register the service's tools in agent frameworks; each needs the extra of its name.
"""

from stepwell_client.async_client import AsyncClient
from stepwell_client.client import Client
from stepwell_client.errors import ApiError, ConnectionFailed, JobTimeout, StepwellError
from stepwell_client.version import __version__

__all__ = ["ApiError", "AsyncClient", "Client", "ConnectionFailed", "JobTimeout", "StepwellError", "__version__"]
