-- Lists every column with its table, type, nullability, default or expression, and storage.
-- Columns: one line of text.
-- :schema text  name of the schema
SELECT format('%I.%I %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END,
              coalesce(CASE a.attgenerated WHEN 's' THEN ' GENERATED ' ELSE ' DEFAULT ' END || pg_get_expr(d.adbin, d.adrelid), ''),
              CASE WHEN a.attstorage <> t.typstorage THEN ' STORAGE ' || CAST(a.attstorage AS text) ELSE '' END)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE n.nspname = :schema AND c.relkind IN ('r', 'p')
