-- Computes the BM25 score that a posting contributes to its chunk: weight * tf / (tf + k1 * (1 - b + b * length /
-- average length)), with k1 1.2, b 0.75 and the factor k1 + 1 in `weight` (Robertson and Zaragoza 2009).
-- $row  alias of a row with item (the posting), weight, and per_token (k1 * b / average length)
$row.weight / (CAST(1 AS real) + (CAST(0.3 AS real) + $row.per_token * CAST($row.item & 65535 AS real))
                                             / CAST(($row.item >> 16) & 255 AS real))
