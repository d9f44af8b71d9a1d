"""Runs the benchmarks' command line as `python -m benchmarks`."""

from benchmarks.cli.root import main

main()
