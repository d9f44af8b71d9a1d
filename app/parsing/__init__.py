"""Reads files of every supported format in a separate process with limits of memory and time.

The service imports only `encodings`, `formats`, `process` and `types`. The other modules run in the process that
`process.Parser` starts: `worker` selects one of them by format, so that a process imports the libraries it needs only.
A new format is a module with `read` in the folder of its family, and its row
in `formats.FORMATS`, which lists them all.
"""
