-- Extracts the number of a posting's chunk.
-- $item  a posting
$item >> 24
