from benchmarks.cli.root import main

main()
