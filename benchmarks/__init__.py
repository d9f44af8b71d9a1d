"""Benchmarks, generated data and fault drills for Stepwell: `python -m benchmarks`. Never imported by `app`.

benchmarks/
├── __main__.py      python -m benchmarks
├── cli/             bench, world, noise, bm25, citus, volumes, attacks, load, peers, providers, …: one file a command
├── speed/           statement latency, recall and request latency over a synthetic corpus of a given size
├── peers/           other retrieval libraries and engines on the same chunks, vectors and questions
├── company/         generated evaluation set about a fictional company
├── cluster/         the same requests on a Citus cluster and on one server, and the shards that statements touch
├── attacks/         measured effects of attacks on a running service, at this revision and an earlier one
├── soak/            mixed load with kills over minutes to hours; verifies every acknowledged write
├── service.py       starts `stepwell serve` in a process of its own
├── folders.py       temporary data folders
├── raw_http.py      requests sent byte by byte
├── load.py          closed loops of clients, bursts and unequal users
├── provider_faults.py  searches while the remote embedder fails
├── provider_outage.py  searches, uploads and a job during a long outage of the remote embedder
├── vector_types.py  size, recall and speed of vectors of 32 and 16 bits a number
├── noise.py         random authors, teams and tags for the documents of an evaluation set
├── bm25.py          compares the text leg with bm25s
└── volumes.py       measures multi-hop search on documents bound into volumes with headings
"""
