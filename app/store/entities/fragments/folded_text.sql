-- Folds a text as names are folded, as far as the letters a to z are concerned: lower case, decomposed, without accents.
-- $text  the text
CASE WHEN octet_length($text) = length($text) THEN lower($text)
         ELSE regexp_replace(
             lower(normalize(replace(replace($text, 'ß', 'ss'), 'ẞ', 'ss'), NFKD)),
             '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+', '', 'g')
         END
