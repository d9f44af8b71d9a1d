"""THE DESK: what does this text say, piece by piece?

Pure text in, pure text out: no clock, no network, no database. Every function here is linear in the length of its
input, because documents come from strangers.

    characters   which characters can a reader see?
    cleaning     what is the text behind these bytes?
    markdown     what does the document say about itself?
    structure    where are the headings, fences, tables and lists?
    sentences    where may prose be cut?
    tokens       how many word pieces will a model see?
    chunking     which passages does a document fall into?
    lexical      which words does Postgres get to see?
    analysis     what is this query asking for?
    names        which names stand in this text?
    headings     in which sections does a chunk stand, and what are they called?
    terms        which terms would lead to related passages?
    exactness    what does a hit hold literally of what was asked for?
    spelling     which stored words may a mistyped word mean?
    gazetteer    where does which of very many known names stand?
    likeness     which known names does this resemble?
"""
