"""Compares Stepwell with other retrieval libraries and engines on the same chunks, vectors and questions.

Each peer is stored in and asked through its own client by a program in `runners/`, which runs in a virtual environment
of the peer's: nothing here imports a peer's packages, and a runner imports nothing of `app`.
"""
