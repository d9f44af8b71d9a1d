-- Keeps a phrase within the title, the headings or the content of a chunk, whose positions follow each other in its
-- tsvector: the words must all have one of the labels. A query of one word is returned as it is.
-- $query  a tsquery of one word or phrase
-- $labels  the labels, such as 'ABCD'
CASE WHEN numnode($query) < 2 THEN $query
             ELSE (SELECT CAST(string_agg('( ' || regexp_replace(CAST($query AS text), '''((?:[^'']|'''')*)''(?::([*])?[A-D]*)?',
                                                                 '''\1'':\2' || l.label, 'g') || ' )', ' | ') AS tsquery)
                   FROM unnest(string_to_array($labels, NULL)) AS l (label)) END
