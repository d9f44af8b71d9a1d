-- The text that is embedded for an entity: its role, description and facts; empty without any of them.
-- $entity  alias of the row of entities
concat_ws('. ', nullif($entity.role, ''), nullif($entity.description, ''), (
    SELECT string_agg(f.fact, '. ' ORDER BY f.place) FROM jsonb_array_elements_text($entity.facts) WITH ORDINALITY AS f (fact, place) WHERE f.fact <> ''))
