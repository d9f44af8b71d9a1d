-- Encodes the posting of a lexeme in a chunk in one bigint: the chunk's number, the term frequency (at most 255) and
-- the chunk's length (at most 65,535). Postings of a lexeme sort by chunk.
-- $chunk  alias of a row with chunk_no and length
-- $positions  the lexeme's positions in the chunk's tsvector
($chunk.chunk_no << 24) | (CAST(least(cardinality($positions), 255) AS bigint) << 16) | least($chunk.length, 65535)
