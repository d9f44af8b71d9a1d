"""Stepwell: hybrid, multi-hop and entity-guided search over documents.

A folder is a capability and holds all of its layers; each imports only what stands below it in this list:

app/
├── __main__.py      the command line
├── serving/         starts the service: its processes, its address, its workers, and the application of a command
├── main.py          create_app() puts the registered capabilities together
├── capability_registry.py  the list of capabilities: the one place that names them all
├── maintenance/     doctor, repair, backup, change of model
├── agents/          tools and MCP; compat/ for Dify and ChatGPT
├── feedback/        what callers say about hits
├── web/             the playground and Swagger UI
├── evaluation/      quality on sets in BEIR layout, and calibration
├── multihop/        several hops: links and terms
├── search/          a query to its answer: understanding, the hybrid statement, fusion, order, page; steps/
├── sources/         folders that are kept in step
├── recognition/     text in pictures (OCR), in another process with limits; its library is an optional extra
├── documents/       storing, reading, changing, deleting; files, pages of the web, large documents
├── entities/        people, teams and other names, and their mentions in texts
├── facets/          counts of metadata
├── jobs/            the queue, workers, events
├── http/            what every endpoint shares: authentication, bodies, limits, problems, metrics
├── access/          keys, tokens, users, audit
├── cli/             the frame of the command line: options, progress, the one client
├── runtime/         opens and closes what every entry point needs: database, models, limits
├── settings.py      one Settings; values are passed down
├── tools.py         what a tool is; each capability declares its own
├── relevance/       the score of relevance of a hit, 0 to 1: features, coefficients, calibration
├── query/           the request of a search, and what its steps hand on
├── derived_row_repairs.py  what a repair is: how derived rows are compared with their source, and rewritten
├── services.py      the opened database, models and options that use cases take as one value
├── parsing/         files to text, in a process with limits
├── models/          embedders, re-rankers and language models: protocols, local and remote
├── requests/        what requests, tools and commands share: strict JSON, field types, filters, cursors
├── database/        pools, transactions that know their user, the SQL loader, filters, schema; embedded/
├── fetching/        pages and files over HTTP, of public hosts only
├── text/            pure text: words, passages, names, query language
├── concurrency/     one limiter, one single flight, one runner of processes with limits
├── logging_setup.py logs and request ids
├── enums.py         the enumerations
├── limits.py        the limits of requests
├── samples/         the notes of a small fictional company, and questions about them
├── capability.py    what a capability declares
└── errors.py        the exceptions, and the status of each code
"""

__version__ = "1.0.0"
