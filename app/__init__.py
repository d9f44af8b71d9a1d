"""Stepwell: hybrid, multi-hop and entity-guided search over your documents.

A question walks downstairs once and an answer comes back up:

    HTTP / CLI → pipelines → ( text · providers · store → SQL ) → ranking → response

app/
├── __main__.py      python -m app
├── cli/             serve, demo, ingest, search, multihop, eval, db, keys, entities, …: a file a family
├── main.py          create_app(): the lifespan builds the pool and the providers; nothing happens at import
├── runtime.py       what every entry point needs: a database, an embedder and the limits, opened and closed together
├── config.py        one Settings; values are passed down, never imported by the rooms below
├── errors.py        the error tree, drawn in the docstring; status and code on each class
├── telemetry.py     logs and the request id
├── shapes/          what travels between the rooms (frozen dataclasses): reading, writing, and words they share
├── api/             THE DOOR      routers, wire models, auth, problem+json, metrics: HTTP in, HTTP out, nothing else
├── pipelines/       THE CORRIDOR  one story a file: search, pass_one, two_pass, multihop, reranking, rerank (lists),
│                                  similar, ingest, naming, entities, relinking, warming, documents, keys
├── ranking/         THE SCALES    pure arithmetic on shapes: steering, confidence, blending, reranking, merge
├── text/            THE DESK      pure text: analysis, cleaning, chunking, names, headings, terms, index text
├── store/           THE CELLAR    the only room that knows Postgres, the embedded server too
│   └── sql/         hybrid.sql and its sisters: the header says what it answers, its binds, its columns
├── providers/       THE WINDOWS   the only room that looks outside or loads a model
├── evaluation/      BEIR sets in, nDCG and recall out: a client of the pipelines like any other
├── samples/         the notes of a small fictional company, and questions about them
└── web/             THE SHOPFRONT vendored Swagger UI
"""

__version__ = "0.1.0"
