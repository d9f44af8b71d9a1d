"""Benchmarks and fault drills for Stepwell: `python -m benchmarks`. Never imported by `app`.

benchmarks/
├── __main__.py      python -m benchmarks
├── cli/             bench, load, ingest, peers, providers, relevance, repository, attacks, soak: one file a command
├── speed/           statement latency, recall and request latency over a synthetic corpus of a given size
├── ingest/          speed and memory of storing
├── peers/           other retrieval libraries and engines on the same chunks, vectors and questions
├── relevance/       the fit of relevance, and its figures on sets that were left out
├── repository/      questions about the repository's own files
├── attacks/         measured effects of attacks on a running service, at this revision and an earlier one
├── soak/            mixed load with kills over minutes to hours; verifies every acknowledged write
├── ablation.py      a search over several hops without each signal and method of terms
├── service.py       starts `stepwell serve` in a process of its own
├── folders.py       temporary data folders
├── pairs.py         runs in turns, and the ratios of their rounds
├── raw_http.py      requests sent byte by byte
├── load.py          closed loops of clients, bursts and unequal users
├── fake_embedder.py vectors of words, without a model
├── statements.py    counts the statements that a connection is sent
└── provider_faults.py  searches while the remote embedder fails
"""
