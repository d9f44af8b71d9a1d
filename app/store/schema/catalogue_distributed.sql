-- Lists the tables of a schema that Citus distributes. Requires Citus.
-- Columns: name, distributed_by (the column), colocation (the number of the group), shards, local_bytes (what the table
-- occupies on the coordinator itself).
-- :schema text  name of the schema
SELECT CAST(c.relname AS text) AS name, column_to_column_name(p.logicalrelid, p.partkey) AS distributed_by,
       p.colocationid AS colocation, g.shardcount AS shards, pg_relation_size(c.oid) AS local_bytes
FROM pg_dist_partition AS p
JOIN pg_dist_colocation AS g ON g.colocationid = p.colocationid
JOIN pg_class AS c ON c.oid = p.logicalrelid
JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND p.partmethod = 'h'
ORDER BY c.relname
