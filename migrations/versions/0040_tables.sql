-- The tables and indexes of revision 0040, and the functions that compute columns. Of two indexes that look equally good the
-- planner takes the one that was created first, so their order is that of the revisions before.

-- A date or time of ISO 8601, in UTC unless it has an offset. The cast raises an error for 30 February; it depends on no
-- setting, because the text is in ISO format and has an offset.
CREATE FUNCTION stepwell.microseconds(moment text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
    trimmed text;
BEGIN
    IF moment !~ ('^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?'
                  '\s*([Zz]|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)?)?\s*$') THEN
        RETURN NULL;
    END IF;
    trimmed := replace(btrim(moment), ',', '.');
    RETURN extract(epoch FROM CAST(trimmed || CASE WHEN length(trimmed) = 10 THEN ' 00:00Z'
        WHEN trimmed ~ '([Zz]|[+-][0-9:]+)$' AND length(trimmed) > 10 THEN '' ELSE 'Z' END AS timestamptz)) * 1000000;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;

-- The variable $moments of the JSON paths of filters: the dates and times of each key, as microseconds since 1970.
CREATE FUNCTION stepwell.moments(metadata jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (
    SELECT jsonb_build_object('moments', coalesce(jsonb_object_agg(k.key, k.moments), '{}'))
    FROM (
        SELECT e.key, jsonb_agg(stepwell.microseconds(v.value #>> '{}')) AS moments
        FROM jsonb_each(metadata) AS e (key, value)
        CROSS JOIN LATERAL jsonb_array_elements(
            CASE jsonb_typeof(e.value) WHEN 'array' THEN e.value ELSE jsonb_build_array(e.value) END) AS v (value)
        WHERE jsonb_typeof(v.value) = 'string' AND stepwell.microseconds(v.value #>> '{}') IS NOT NULL
        GROUP BY e.key
    ) AS k
);

CREATE TABLE stepwell.api_keys (
    key_id text NOT NULL,
    user_id text NOT NULL,
    secret_hash bytea NOT NULL,
    scopes text[] NOT NULL,
    name text DEFAULT '' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    expires_at timestamptz,
    revoked_at timestamptz,
    filters jsonb,
    shows_entities boolean DEFAULT false NOT NULL,
    token_key bytea,
    CONSTRAINT pk_api_keys PRIMARY KEY (key_id),
    CONSTRAINT ck_api_keys_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.audit_log (
    user_id text NOT NULL,
    event_id uuid NOT NULL,
    at timestamptz DEFAULT now() NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    target text NOT NULL,
    counts jsonb DEFAULT '{}' NOT NULL,
    CONSTRAINT pk_audit_log PRIMARY KEY (user_id, event_id),
    CONSTRAINT ck_audit_log_user_id CHECK (user_id <> '')
);

CREATE INDEX ix_audit_log_user_id_at ON stepwell.audit_log (user_id, at);

CREATE TABLE stepwell.sources (
    user_id text NOT NULL,
    source_id uuid NOT NULL,
    path text NOT NULL,
    glob text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    synced_at timestamptz,
    text_field text,
    watch boolean DEFAULT false NOT NULL,
    confined boolean DEFAULT true NOT NULL,
    job_id uuid,
    result jsonb DEFAULT '{}' NOT NULL,
    name text,
    CONSTRAINT pk_sources PRIMARY KEY (user_id, source_id),
    CONSTRAINT ck_sources_user_id CHECK (user_id <> ''),
    CONSTRAINT uq_sources_user_id_name UNIQUE (user_id, name)
);

CREATE TABLE stepwell.documents (
    user_id text NOT NULL,
    document_id uuid NOT NULL,
    source_id uuid,
    identity bytea NOT NULL,
    uri text,
    title text NOT NULL,
    config text NOT NULL,
    metadata jsonb DEFAULT '{}' NOT NULL,
    content text NOT NULL,
    content_hash bytea NOT NULL,
    attributes_hash bytea NOT NULL,
    chunk_count integer NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    names_version integer DEFAULT 0 NOT NULL,
    moments jsonb GENERATED ALWAYS AS (stepwell.moments(metadata)) STORED NOT NULL,
    markdown boolean DEFAULT true NOT NULL,
    chunk_tokens smallint DEFAULT 160 NOT NULL,
    chunk_overlap smallint DEFAULT 24 NOT NULL,
    page_starts integer[] DEFAULT '{}' NOT NULL,
    cleaning_version smallint DEFAULT 1 NOT NULL,
    source_path text,
    extracted jsonb DEFAULT '[]' NOT NULL,
    fetched jsonb,
    sketch bytea,
    CONSTRAINT pk_documents PRIMARY KEY (user_id, document_id),
    CONSTRAINT ck_documents_user_id CHECK (user_id <> ''),
    CONSTRAINT uq_documents_user_id_identity UNIQUE (user_id, identity),
    CONSTRAINT fk_documents_sources FOREIGN KEY (user_id, source_id) REFERENCES stepwell.sources (user_id, source_id)
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_documents_user_id_created_at_document_id ON stepwell.documents (user_id, created_at, document_id);

CREATE INDEX ix_documents_metadata ON stepwell.documents USING gin (metadata jsonb_path_ops);

CREATE INDEX ix_documents_names_version ON stepwell.documents (names_version);

CREATE INDEX ix_documents_user_id_source_id_source_path ON stepwell.documents (user_id, source_id, source_path);

CREATE TABLE stepwell.chunks (
    user_id text NOT NULL,
    chunk_id uuid NOT NULL,
    chunk_no bigint NOT NULL,
    document_id uuid NOT NULL,
    chunk_index integer NOT NULL,
    content text NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    heading_path text[] NOT NULL,
    config text NOT NULL,
    tsv tsvector NOT NULL,
    length integer NOT NULL,
    embedding_key uuid NOT NULL,
    CONSTRAINT pk_chunks PRIMARY KEY (user_id, chunk_id),
    CONSTRAINT ck_chunks_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_chunks_documents FOREIGN KEY (user_id, document_id)
        REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_chunks_user_id_embedding_key ON stepwell.chunks (user_id, embedding_key);

CREATE UNIQUE INDEX uq_chunks_user_id_chunk_no ON stepwell.chunks (user_id, chunk_no) INCLUDE (chunk_id);

ALTER TABLE stepwell.chunks ADD CONSTRAINT uq_chunks_user_id_document_id_chunk_index
UNIQUE (user_id, document_id, chunk_index) DEFERRABLE;

CREATE INDEX ix_chunks_tsv ON stepwell.chunks USING gin (tsv);

CREATE TABLE stepwell.document_facets (
    user_id text NOT NULL,
    document_id uuid NOT NULL,
    ids bytea NOT NULL,
    attributes bytea DEFAULT '\x000000000000000000000000000000000000000000000000' NOT NULL,
    texts bytea DEFAULT '\x0000' NOT NULL,
    CONSTRAINT pk_document_facets PRIMARY KEY (user_id, document_id),
    CONSTRAINT ck_document_facets_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_document_facets_documents FOREIGN KEY (user_id, document_id)
        REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
);

ALTER TABLE stepwell.document_facets ALTER COLUMN ids SET STORAGE EXTERNAL;

CREATE TABLE stepwell.embedding_cache (
    user_id text NOT NULL,
    model text NOT NULL,
    dimension integer NOT NULL,
    task text NOT NULL,
    text_hash uuid NOT NULL,
    embedding vector NOT NULL,
    hits bigint DEFAULT 0 NOT NULL,
    used_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_embedding_cache PRIMARY KEY (user_id, model, dimension, task, text_hash),
    CONSTRAINT ck_embedding_cache_user_id CHECK (user_id <> '')
);

CREATE INDEX ix_embedding_cache_user_id_used_at ON stepwell.embedding_cache (user_id, used_at) INCLUDE (hits);

CREATE TABLE stepwell.embedding_identity (
    model text NOT NULL,
    dimension integer NOT NULL,
    active smallint DEFAULT '1' NOT NULL,
    keyed_by text,
    CONSTRAINT pk_embedding_identity PRIMARY KEY (active),
    CONSTRAINT ck_embedding_identity_one_row CHECK (active = 1)
);

CREATE TABLE stepwell.embedding_target (
    model text NOT NULL,
    dimension integer NOT NULL,
    started_at timestamptz DEFAULT now() NOT NULL,
    active smallint DEFAULT '1' NOT NULL,
    CONSTRAINT pk_embedding_target PRIMARY KEY (active),
    CONSTRAINT ck_embedding_target_one_row CHECK (active = 1)
);

CREATE TABLE stepwell.embeddings (
    user_id text NOT NULL,
    chunk_no bigint NOT NULL,
    document_id uuid NOT NULL,
    embedding halfvec({dimension}) NOT NULL,
    CONSTRAINT pk_embeddings PRIMARY KEY (user_id, chunk_no),
    CONSTRAINT ck_embeddings_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_embeddings_chunks FOREIGN KEY (user_id, chunk_no)
        REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE
);

ALTER TABLE stepwell.embeddings ALTER COLUMN embedding SET STORAGE MAIN;

CREATE INDEX ix_embeddings_user_id_document_id ON stepwell.embeddings (user_id, document_id);

CREATE INDEX ix_embeddings_embedding ON stepwell.embeddings
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);

CREATE TABLE stepwell.entities (
    user_id text NOT NULL,
    entity_id uuid NOT NULL,
    type text NOT NULL,
    name text NOT NULL,
    origin text NOT NULL,
    role text,
    facts jsonb DEFAULT '[]' NOT NULL,
    description text,
    metadata jsonb DEFAULT '{}' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    updated_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_entities PRIMARY KEY (user_id, entity_id),
    CONSTRAINT ck_entities_origin CHECK (origin IN ('user', 'metadata', 'title', 'text')),
    CONSTRAINT ck_entities_user_id CHECK (user_id <> '')
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_entities_user_id_name_entity_id ON stepwell.entities (user_id, name, entity_id) WHERE origin <> 'text';

CREATE TABLE stepwell.entity_changes (
    user_id text NOT NULL,
    name_key bytea NOT NULL,
    name text NOT NULL,
    version bigint NOT NULL,
    pending boolean DEFAULT true NOT NULL,
    lowered boolean DEFAULT false NOT NULL,
    CONSTRAINT pk_entity_changes PRIMARY KEY (user_id, name_key),
    CONSTRAINT ck_entity_changes_user_id CHECK (user_id <> '')
);

CREATE INDEX ix_entity_changes_user_id_version ON stepwell.entity_changes (user_id, version);

CREATE TABLE stepwell.entity_members (
    user_id text NOT NULL,
    entity_id uuid NOT NULL,
    member_id uuid NOT NULL,
    CONSTRAINT pk_entity_members PRIMARY KEY (user_id, entity_id, member_id),
    CONSTRAINT ck_entity_members_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_entity_members_entity FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE,
    CONSTRAINT fk_entity_members_member FOREIGN KEY (user_id, member_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
);

CREATE INDEX ix_entity_members_user_id_member_id ON stepwell.entity_members (user_id, member_id);

CREATE TABLE stepwell.entity_names (
    user_id text NOT NULL,
    name_key bytea NOT NULL,
    entity_id uuid NOT NULL,
    name text NOT NULL,
    place smallint DEFAULT '0' NOT NULL,
    CONSTRAINT pk_entity_names PRIMARY KEY (user_id, name_key, entity_id),
    CONSTRAINT ck_entity_names_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_entity_names_entities FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_entity_names_entity_id_user_id ON stepwell.entity_names (entity_id, user_id);

CREATE TABLE stepwell.entity_vectors (
    user_id text NOT NULL,
    entity_id uuid NOT NULL,
    embedding halfvec({dimension}) NOT NULL,
    CONSTRAINT pk_entity_vectors PRIMARY KEY (user_id, entity_id),
    CONSTRAINT ck_entity_vectors_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_entity_vectors_entities FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
);

ALTER TABLE stepwell.entity_vectors ALTER COLUMN embedding SET STORAGE MAIN;

CREATE INDEX ix_entity_vectors_embedding ON stepwell.entity_vectors
    USING hnsw (embedding halfvec_cosine_ops) WITH (m = 16, ef_construction = 200);

CREATE TABLE stepwell.entity_words (
    user_id text NOT NULL,
    lexeme text NOT NULL COLLATE "C",
    entity_id uuid NOT NULL,
    CONSTRAINT pk_entity_words PRIMARY KEY (user_id, lexeme, entity_id),
    CONSTRAINT ck_entity_words_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_entity_words_entities FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_entity_words_user_id_entity_id ON stepwell.entity_words (user_id, entity_id);

CREATE TABLE stepwell.facet_changes (
    user_id text NOT NULL,
    place bigint NOT NULL,
    change_id uuid NOT NULL,
    added bytea NOT NULL,
    removed bytea NOT NULL,
    added_attributes bytea DEFAULT '\x' NOT NULL,
    added_texts bytea DEFAULT '\x' NOT NULL,
    removed_attributes bytea DEFAULT '\x' NOT NULL,
    removed_texts bytea DEFAULT '\x' NOT NULL,
    CONSTRAINT pk_facet_changes PRIMARY KEY (user_id, place),
    CONSTRAINT ck_facet_changes_user_id CHECK (user_id <> '')
);

ALTER TABLE stepwell.facet_changes ALTER COLUMN added SET STORAGE EXTERNAL, ALTER COLUMN removed SET STORAGE EXTERNAL;

CREATE TABLE stepwell.facet_keys (
    user_id text NOT NULL,
    key text NOT NULL,
    type text NOT NULL,
    documents bigint NOT NULL,
    distinct_values bigint NOT NULL,
    id integer,
    CONSTRAINT pk_facet_keys PRIMARY KEY (user_id, key, type),
    CONSTRAINT ck_facet_keys_user_id CHECK (user_id <> '')
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE UNIQUE INDEX ix_facet_keys_id ON stepwell.facet_keys (user_id, id);

CREATE TABLE stepwell.facet_values (
    user_id text NOT NULL,
    key text NOT NULL,
    opening text NOT NULL COLLATE "C",
    hash bigint NOT NULL,
    value jsonb NOT NULL,
    documents bigint NOT NULL,
    id integer,
    magnitude numeric GENERATED ALWAYS AS (
        CASE jsonb_typeof(value) WHEN 'number' THEN CAST(value AS numeric)
                                 WHEN 'string' THEN stepwell.microseconds(value #>> '{}') END) STORED,
    CONSTRAINT pk_facet_values PRIMARY KEY (user_id, key, opening, hash) INCLUDE (id),
    CONSTRAINT ck_facet_values_user_id CHECK (user_id <> '')
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_facet_values_documents ON stepwell.facet_values (user_id, key, documents DESC, opening, hash);

CREATE UNIQUE INDEX ix_facet_values_id ON stepwell.facet_values (user_id, id);

CREATE TABLE stepwell.feedback (
    user_id text NOT NULL,
    feedback_id uuid NOT NULL,
    query text NOT NULL,
    document_id uuid NOT NULL,
    chunk_id uuid,
    helpful boolean NOT NULL,
    at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_feedback PRIMARY KEY (user_id, feedback_id),
    CONSTRAINT ck_feedback_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_feedback_documents FOREIGN KEY (user_id, document_id)
        REFERENCES stepwell.documents (user_id, document_id) ON DELETE CASCADE
);

CREATE INDEX ix_feedback_user_id_document_id ON stepwell.feedback (user_id, document_id);

CREATE INDEX ix_feedback_user_id_at ON stepwell.feedback (user_id, at);

CREATE TABLE stepwell.headings (
    user_id text NOT NULL,
    entity_id uuid NOT NULL,
    section_no bigint NOT NULL,
    chunk_no bigint NOT NULL,
    document_id uuid NOT NULL,
    CONSTRAINT pk_headings PRIMARY KEY (user_id, entity_id, section_no, chunk_no),
    CONSTRAINT ck_headings_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_headings_chunks FOREIGN KEY (user_id, chunk_no)
        REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE,
    CONSTRAINT fk_headings_entities FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_headings_user_id_chunk_no ON stepwell.headings (user_id, chunk_no);

CREATE INDEX ix_headings_user_id_document_id ON stepwell.headings (user_id, document_id);

CREATE TABLE stepwell.hidden_chunks (
    user_id text NOT NULL,
    first_no bigint NOT NULL,
    last_no bigint NOT NULL,
    config text NOT NULL,
    tokens bigint NOT NULL,
    job_id uuid,
    CONSTRAINT pk_hidden_chunks PRIMARY KEY (user_id, first_no),
    CONSTRAINT ck_hidden_chunks_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.idempotency_keys (
    user_id text NOT NULL,
    key text NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    fingerprint bytea,
    status smallint,
    location text,
    body text,
    CONSTRAINT pk_idempotency_keys PRIMARY KEY (user_id, key),
    CONSTRAINT ck_idempotency_keys_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.jobs (
    job_id uuid NOT NULL,
    user_id text NOT NULL,
    kind text NOT NULL,
    status text DEFAULT 'queued' NOT NULL,
    payload jsonb DEFAULT '{}' NOT NULL,
    progress jsonb DEFAULT '{}' NOT NULL,
    error text,
    attempts smallint DEFAULT '0' NOT NULL,
    run_at timestamptz DEFAULT now() NOT NULL,
    leased_until timestamptz,
    created_at timestamptz DEFAULT now() NOT NULL,
    finished_at timestamptz,
    failures smallint DEFAULT 0 NOT NULL,
    result jsonb DEFAULT '{}' NOT NULL,
    audience text,
    CONSTRAINT pk_jobs PRIMARY KEY (job_id),
    CONSTRAINT ck_jobs_status CHECK (status IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    CONSTRAINT ck_jobs_user_id CHECK (user_id <> '')
);

CREATE INDEX ix_jobs_waiting ON stepwell.jobs (run_at) WHERE status IN ('queued', 'running');

CREATE INDEX ix_jobs_user_id_created_at_job_id ON stepwell.jobs (user_id, created_at, job_id);

CREATE INDEX ix_jobs_of_document ON stepwell.jobs (user_id, kind, status, (payload ->> 'document_id'));

CREATE TABLE stepwell.key_uses (
    key_id text NOT NULL,
    day date NOT NULL,
    scope text NOT NULL,
    user_id text NOT NULL,
    uses bigint NOT NULL,
    last_used_at timestamptz NOT NULL,
    CONSTRAINT pk_key_uses PRIMARY KEY (key_id, day, scope),
    CONSTRAINT ck_key_uses_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.lexemes (
    user_id text NOT NULL,
    lexeme text NOT NULL COLLATE "C",
    df integer NOT NULL,
    tail_no bigint NOT NULL,
    tail_size integer NOT NULL,
    CONSTRAINT pk_lexemes PRIMARY KEY (user_id, lexeme),
    CONSTRAINT ck_lexemes_user_id CHECK (user_id <> '')
) WITH (fillfactor = 80);

CREATE TABLE stepwell.mentions (
    user_id text NOT NULL,
    entity_id uuid NOT NULL,
    chunk_no bigint NOT NULL,
    kind text NOT NULL,
    document_id uuid NOT NULL,
    count integer NOT NULL,
    CONSTRAINT pk_mentions PRIMARY KEY (user_id, entity_id, chunk_no, kind),
    CONSTRAINT ck_mentions_kind CHECK (kind IN ('text', 'attendee', 'metadata', 'title')),
    CONSTRAINT ck_mentions_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_mentions_chunks FOREIGN KEY (user_id, chunk_no)
        REFERENCES stepwell.chunks (user_id, chunk_no) ON DELETE CASCADE,
    CONSTRAINT fk_mentions_entities FOREIGN KEY (user_id, entity_id)
        REFERENCES stepwell.entities (user_id, entity_id) ON DELETE CASCADE
) WITH (autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 2000);

CREATE INDEX ix_mentions_user_id_chunk_no ON stepwell.mentions (user_id, chunk_no);

CREATE INDEX ix_mentions_user_id_document_id ON stepwell.mentions (user_id, document_id);

CREATE INDEX ix_mentions_user_id_entity_id_kind_document_id
    ON stepwell.mentions (user_id, entity_id, kind, document_id) INCLUDE (count);

CREATE TABLE stepwell.postings (
    user_id text NOT NULL,
    lexeme text NOT NULL COLLATE "C",
    first_no bigint NOT NULL,
    items bigint[] NOT NULL,
    CONSTRAINT pk_postings PRIMARY KEY (user_id, lexeme, first_no),
    CONSTRAINT ck_postings_user_id CHECK (user_id <> '')
) WITH (fillfactor = 85);

ALTER TABLE stepwell.postings ALTER COLUMN items SET STORAGE PLAIN;

CREATE TABLE stepwell.recognised_pictures (
    user_id text NOT NULL,
    picture_key uuid NOT NULL,
    lines bytea NOT NULL,
    used_at timestamptz DEFAULT now() NOT NULL,
    CONSTRAINT pk_recognised_pictures PRIMARY KEY (user_id, picture_key),
    CONSTRAINT ck_recognised_pictures_user_id CHECK (user_id <> '')
);

CREATE INDEX ix_recognised_pictures_user_id_used_at ON stepwell.recognised_pictures (user_id, used_at);

CREATE TABLE stepwell.source_files (
    user_id text NOT NULL,
    source_id uuid NOT NULL,
    path text NOT NULL COLLATE "C",
    size bigint,
    mtime_ns bigint,
    content_hash bytea,
    documents integer DEFAULT 0 NOT NULL,
    error text,
    job_id uuid NOT NULL,
    CONSTRAINT pk_source_files PRIMARY KEY (user_id, source_id, path),
    CONSTRAINT ck_source_files_user_id CHECK (user_id <> ''),
    CONSTRAINT fk_source_files_sources FOREIGN KEY (user_id, source_id)
        REFERENCES stepwell.sources (user_id, source_id) ON DELETE CASCADE
);

CREATE TABLE stepwell.staged_chunks (
    user_id text NOT NULL,
    job_id uuid NOT NULL,
    chunk_index integer NOT NULL,
    chunk_id uuid NOT NULL,
    chunk_no bigint,
    content text NOT NULL,
    start_offset integer NOT NULL,
    end_offset integer NOT NULL,
    heading_path text[] NOT NULL,
    tsv tsvector NOT NULL,
    length integer NOT NULL,
    embedding_key uuid NOT NULL,
    embedding real[],
    CONSTRAINT pk_staged_chunks PRIMARY KEY (user_id, job_id, chunk_index),
    CONSTRAINT ck_staged_chunks_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.staged_documents (
    user_id text NOT NULL,
    job_id uuid NOT NULL,
    document_id uuid NOT NULL,
    identity bytea NOT NULL,
    uri text,
    title text NOT NULL,
    config text NOT NULL,
    metadata jsonb DEFAULT '{}' NOT NULL,
    content text NOT NULL,
    content_hash bytea NOT NULL,
    attributes_hash bytea NOT NULL,
    created_at timestamptz,
    markdown boolean NOT NULL,
    chunk_tokens smallint NOT NULL,
    chunk_overlap smallint NOT NULL,
    page_starts integer[] DEFAULT '{}' NOT NULL,
    cleaning_version smallint DEFAULT 1 NOT NULL,
    source_id uuid,
    source_path text,
    sketch bytea,
    CONSTRAINT pk_staged_documents PRIMARY KEY (user_id, job_id),
    CONSTRAINT ck_staged_documents_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.tenants (
    user_id text NOT NULL,
    version bigint DEFAULT '0' NOT NULL,
    next_chunk_no bigint DEFAULT '1' NOT NULL,
    created_at timestamptz DEFAULT now() NOT NULL,
    names_version bigint DEFAULT '0' NOT NULL,
    calibration bigint[],
    calibrated jsonb DEFAULT '{}' NOT NULL,
    synonyms jsonb DEFAULT '[]' NOT NULL,
    synonyms_version bigint DEFAULT 0 NOT NULL,
    CONSTRAINT pk_tenants PRIMARY KEY (user_id),
    CONSTRAINT ck_tenants_calibration CHECK (cardinality(calibration) IN (4, 6)),
    CONSTRAINT ck_tenants_user_id CHECK (user_id <> '')
);

CREATE TABLE stepwell.text_statistics (
    user_id text NOT NULL,
    config text NOT NULL,
    chunks bigint NOT NULL,
    tokens bigint NOT NULL,
    CONSTRAINT pk_text_statistics PRIMARY KEY (user_id, config),
    CONSTRAINT ck_text_statistics_user_id CHECK (user_id <> '')
);
