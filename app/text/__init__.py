"""Pure text processing: no clock, no network, no database.

Every function takes time linear in the length of its input, because documents are untrusted.

    characters        classes of visible, invisible and combining characters
    cleaning          decoding and cleaning
    pages             cleaning of texts with pages: headers, footers, page breaks
    markdown          frontmatter, title, language and date
    plain_json        values as JSON within limits
    restructured      reStructuredText as Markdown
    structure         headings, fences, tables and lists
    sentences         sentences and lines
    tokens            estimated word pieces
    chunking          passages
    languages         the text-search configuration of a language
    lexical           text as Postgres indexes it
    stop_words        function words, question words, name particles and calendar words
    analysis          parsed queries
    names             names in a text, and their keys
    headings          sections and their names
    terms             terms of a further hop
    literal_matches   what a hit contains literally of a query
    spelling          stored words similar to a misspelled one
    gazetteer         known names in a text
    fuzzy_names       known names with a spelling similar to words of a text
    query_words       words of a query, and the names, roles and types among them
    name_uses         how a query uses a name that it contains
    tags              names in metadata
    word_spans        places of words in a text
    snippets          extracts of a text around matches
"""
