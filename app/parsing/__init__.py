"""Reads files of every supported format in a separate process with limits of memory and time.

The service imports only `encodings`, `formats`, `process` and `types`. The other modules run in the process that
`process.Parser` starts: `worker` selects one of them by format, so that a process imports only the libraries that it
needs. A new format is a module with `read`, and mostly `content` (see `completeness`), in the folder of its family, and
a row in `formats.FORMATS`.
"""
