-- Notes which ids and attributes of documents the statement has changed (`changed_ids`), for processes that keep those of
-- all documents in memory. The caller holds the user's lock.
-- Columns: place.
-- :user_id text  owner of the rows
-- :change_id uuid  a random id
INSERT INTO stepwell.facet_changes (user_id, place, change_id, added, added_attributes, added_texts, removed,
                                    removed_attributes, removed_texts)
SELECT :user_id, (SELECT l.place + 1 FROM last_facet_change AS l), :change_id,
       coalesce(string_agg(c.added, ''), ''), coalesce(string_agg(c.added_attributes, ''), ''),
       coalesce(string_agg(c.added_texts, ''), ''), coalesce(string_agg(c.removed, ''), ''),
       coalesce(string_agg(c.removed_attributes, ''), ''), coalesce(string_agg(c.removed_texts, ''), '')
FROM changed_ids AS c
HAVING count(*) > 0
RETURNING place
