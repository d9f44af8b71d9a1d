"""Stepwell: hybrid, multi-hop and entity-guided search over documents.

A query passes through the layers once, and a response is returned:

    HTTP / MCP / CLI → pipelines → ( text · providers · store → SQL ) → ranking → response

and a file, before it is stored: HTTP / CLI → pipelines → parsing (in a process of its own) → text → providers → store

app/
├── __main__.py      python -m app
├── cli/             serve, demo, ingest, search, multihop, eval, db, keys, sources, …: one file per command group
├── main.py          create_app(): the lifespan opens the pool and the providers; nothing happens at import
├── runtime/         opens and closes what every entry point needs: database, providers, limits
├── config/          one Settings; values are passed down, never imported by lower layers
├── errors.py        the exception hierarchy, with status and code on each class
├── telemetry.py     logs and request ids
├── shapes/          the core types (frozen, slotted dataclasses) and the literal types that they share
├── api/             HTTP: routers, wire models, auth, admission, problem+json, metrics, MCP
├── tools/           the registry of agent tools and its exports; the field types that tools and requests share
├── pipelines/       use cases: search, why, multihop, rerank, merges, ingest, sources, reembed, entities; one a file
├── ranking/         pure arithmetic on core types: fusion, merge, boost, MMR, confidence
├── text/            pure text processing: query analysis, cleaning, chunking, name matching, snippets
├── parsing/         reads files of every format in a process with limits; the only package with parser libraries
├── store/           the only package that knows Postgres, including the embedded server; ranked reads are .sql files
│   └── sql/         the header of each file states its purpose, binds and columns
├── providers/       the only package that calls other services or loads a model; one vendor per file
├── evaluation/      BEIR sets in, nDCG and recall out: a client of the pipelines like any other
├── samples/         the notes of a small fictional company, and questions about them
└── web/             static assets: the playground, Swagger UI
"""

__version__ = "0.1.0"
