"""Stepwell: hybrid, multi-hop and entity-guided search over documents.

A query passes through the layers once, and a response is returned:

    HTTP / MCP / CLI → pipelines → ( text · providers · store → SQL ) → ranking → response

and a file, before it is stored: HTTP / CLI → pipelines → parsing (in a process of its own) → text → providers → store

app/
├── __main__.py      python -m app
├── cli/             the commands by subject: search, documents, serving, maintenance, mcp; one module a command
├── main.py          create_app(): the lifespan opens the pool and the providers; nothing happens at import
├── runtime/         opens and closes what every entry point needs: database, providers, limits
├── config/          one Settings; values are passed down, never imported by lower layers
├── errors.py        the exception hierarchy, and the status of each code
├── concurrency/     bounds concurrent work
├── telemetry.py     logs and request ids
├── concurrency/     bounds concurrent work: one limiter, one single flight, one runner of processes with limits
├── shapes/          the core types (frozen, slotted dataclasses) and the literal types that they share
├── api/             HTTP: a folder of routers and models a capability, and what they share: bodies, problems, limits
├── tools/           the registry of agent tools and its exports; the field types that tools and requests share
├── pipelines/       use cases by capability: search, guidance, multihop, why, documents, linking, sources, jobs, …
├── ranking/         pure arithmetic on core types: fusion, merge, boost, MMR, confidence
├── text/            pure text processing: words, structure, passages, names, queries
├── parsing/         reads files of every format in a process with limits; the only package with parser libraries
├── recognition/     recognises text on pictures (OCR) in another such process; the library is an optional extra
├── store/           the only package that knows Postgres, by the same capabilities; .sql files lie beside their module
├── providers/       the only package that calls other services (remote) or loads a model (local)
├── evaluation/      BEIR sets in, nDCG and recall out: a client of the pipelines like any other
├── samples/         the notes of a small fictional company, and questions about them
└── web/             static assets: the playground, Swagger UI
"""

__version__ = "0.1.0"
