"""Reads files of every supported format in a separate process with limits of memory and time.

Only `formats`, `process` and `frames` are imported by the service. The other modules run in the process that
`process.Parser` starts: `worker` selects one of them by format, so that a process imports the libraries it needs only.
A new format is a module with `read` and its row in `formats.FORMATS`.

    formats        the table of all formats, and the format of a file by its first bytes and its name
    process        starts the process, passes files to it and enforces the limits
    frames         the messages between the two processes
    worker         main function of the process
    archives       checks on ZIP archives, and the kind of document in one
    files          the file that a parser reads
    pdf            PDF, with page_layout (reading order) and headings
    html_text      HTML as Markdown; also the chapters of books and messages
    word, slides, book, mail
                   DOCX, PPTX, EPUB, EML
    csv_rows, sheets, json_lines
                   tables and JSON lines, whose records are turned into documents by records
"""
