-- Computes the BM25 score that a posting contributes to its chunk: weight * tf / (tf + norm), where the norm of the chunk
-- is k1 * (1 - b + b * length / average length), and `weight` is (k1 + 1) * idf (Robertson and Zaragoza 2009).
-- $row  alias of a row with item (the posting), weight, and per_token (k1 * b / average length)
-- :norm_fixed real  k1 * (1 - b): the part of a chunk's norm that does not depend on its length
$row.weight / (CAST(1 AS real) + (:norm_fixed + $row.per_token * CAST($row.item & 65535 AS real))
                                             / CAST(($row.item >> 16) & 255 AS real))
