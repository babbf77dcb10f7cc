SELECT pg_catalog.set_config('search_path', '', false);
CREATE TABLE public.admissions (
    task_no integer NOT NULL,
    id bytea NOT NULL,
    asked bytea NOT NULL,
    held bytea NOT NULL,
    invitations integer NOT NULL,
    made double precision NOT NULL
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.aliases (
    task_no integer NOT NULL,
    alias character varying(64) NOT NULL,
    number integer NOT NULL
);
CREATE TABLE public.audit (
    no integer NOT NULL,
    at double precision NOT NULL,
    actor character varying(64) NOT NULL,
    action character varying(64) NOT NULL,
    subject character varying(64) NOT NULL,
    detail text NOT NULL,
    times integer NOT NULL,
    hash character varying(64) NOT NULL
);
CREATE SEQUENCE public.audit_no_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_no_seq OWNED BY public.audit.no;
CREATE TABLE public.buckets (
    task_no integer NOT NULL,
    starts bigint NOT NULL,
    curator integer NOT NULL,
    reports bigint NOT NULL,
    checksum bytea NOT NULL,
    parts integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.deleted_tasks (
    id character varying(64) NOT NULL
);
CREATE TABLE public.facts (
    name character varying(64) NOT NULL,
    value text NOT NULL
);
CREATE TABLE public.held (
    task_no integer NOT NULL,
    relay character varying(64) NOT NULL,
    at double precision NOT NULL,
    reports bigint NOT NULL,
    "least" bigint NOT NULL,
    lost text NOT NULL,
    since double precision,
    counted bigint NOT NULL,
    spool character varying(8) DEFAULT ''::character varying NOT NULL,
    delivered bigint DEFAULT '0'::bigint NOT NULL,
    before text DEFAULT '{}'::text NOT NULL
);
CREATE TABLE public.id_pages (
    task_no integer NOT NULL,
    run integer NOT NULL,
    page integer NOT NULL,
    ids bytea NOT NULL,
    fingerprints bytea NOT NULL
);
ALTER TABLE ONLY public.id_pages ALTER COLUMN ids SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.id_pages ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
CREATE TABLE public.id_runs (
    task_no integer NOT NULL,
    run integer NOT NULL,
    ids integer NOT NULL,
    place integer DEFAULT 0 NOT NULL
);
CREATE TABLE public.invitations (
    task_no integer NOT NULL,
    digest bytea NOT NULL,
    unused boolean NOT NULL,
    expires double precision,
    revoked boolean NOT NULL
);
CREATE TABLE public.leftovers (
    task_no integer NOT NULL
);
CREATE TABLE public.models (
    task_no integer NOT NULL,
    number integer NOT NULL,
    created double precision NOT NULL,
    summary text NOT NULL,
    document bytea NOT NULL
);
CREATE TABLE public.payload_events (
    task_no integer NOT NULL,
    question integer NOT NULL,
    way character varying(64) NOT NULL,
    curator integer NOT NULL,
    closings integer NOT NULL,
    n bigint NOT NULL,
    vector bytea NOT NULL,
    width integer NOT NULL
);
CREATE TABLE public.public_data (
    task_no integer NOT NULL,
    rows integer NOT NULL,
    x bytea NOT NULL,
    y bytea NOT NULL,
    onnx bytea,
    register bytea
);
CREATE TABLE public.rejects (
    task_no integer NOT NULL,
    reason character varying(64) NOT NULL,
    count bigint NOT NULL
);
CREATE TABLE public.relayed (
    task_no integer NOT NULL,
    relay character varying(64) NOT NULL,
    starts bigint NOT NULL,
    curator integer NOT NULL,
    reports bigint NOT NULL
);
CREATE TABLE public.report_ids (
    task_no integer NOT NULL,
    id bytea NOT NULL,
    fingerprint bigint NOT NULL
);
CREATE TABLE public.seen (
    no integer NOT NULL,
    "time" double precision NOT NULL
);
CREATE TABLE public.sums (
    task_no integer CONSTRAINT sums_task_no_not_null1 NOT NULL,
    question integer CONSTRAINT sums_question_not_null1 NOT NULL,
    starts bigint CONSTRAINT sums_starts_not_null1 NOT NULL,
    curator integer CONSTRAINT sums_curator_not_null1 NOT NULL,
    part integer NOT NULL,
    n bigint CONSTRAINT sums_n_not_null1 NOT NULL,
    vector bytea CONSTRAINT sums_vector_not_null1 NOT NULL,
    width integer NOT NULL,
    checksum bytea CONSTRAINT sums_checksum_not_null1 NOT NULL
);
ALTER TABLE ONLY public.sums ALTER COLUMN vector SET STORAGE EXTERNAL;
CREATE TABLE public.tasks (
    no integer NOT NULL,
    id character varying(64) NOT NULL,
    state character varying(16) NOT NULL,
    created double precision NOT NULL,
    moved double precision NOT NULL,
    opens bigint,
    closes bigint,
    invited boolean NOT NULL,
    ids_gone boolean NOT NULL,
    quota bigint,
    marked double precision,
    canonical bytea NOT NULL,
    settings text NOT NULL,
    filled double precision
);
CREATE SEQUENCE public.tasks_no_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.tasks_no_seq OWNED BY public.tasks.no;
CREATE TABLE public.tokens (
    name character varying(64) NOT NULL,
    scope character varying(16) NOT NULL,
    digest bytea NOT NULL,
    created double precision NOT NULL,
    expires double precision,
    used double precision
);
ALTER TABLE ONLY public.audit ALTER COLUMN no SET DEFAULT nextval('public.audit_no_seq'::regclass);
ALTER TABLE ONLY public.tasks ALTER COLUMN no SET DEFAULT nextval('public.tasks_no_seq'::regclass);
INSERT INTO public.alembic_version VALUES ('0013');
INSERT INTO public.aliases VALUES (1, 'serving', 1);
INSERT INTO public.audit VALUES (1, 1800000000, '', 'token issued', 'ops', '{"scope": "admin", "token": "3fc7396660bd97d7"}', 1, 'e5574865db47c1bd70f14f4cc00687e19bbbfe5e47d3efd6627c46701524daa0');
INSERT INTO public.buckets VALUES (1, 1799971200, 0, 5, '\xe017a85450d11fb6', 1);
INSERT INTO public.buckets VALUES (1, 1800057600, 0, 8, '\x16ae6bcd41df804f', 1);
INSERT INTO public.buckets VALUES (2, 1799971200, 0, 5, '\x5f6d97d07f3054b7', 1);
INSERT INTO public.buckets VALUES (2, 1800057600, 0, 8, '\x16ae6bcd41df804f', 1);
INSERT INTO public.facts VALUES ('audit_head', '1:e5574865db47c1bd70f14f4cc00687e19bbbfe5e47d3efd6627c46701524daa0');
INSERT INTO public.id_pages VALUES (1, 1429675707, 0, '\x0b8216fa818e50225db52062a5693267246dee453351e4d3ca3aca414c46c1682afad1a4022cb28c6202f315321d0e07', '\x152782ae56ab4a4e152782ae56ab4a4e152782ae56ab4a4e');
INSERT INTO public.id_pages VALUES (1, 1429675707, 1, '\x353297dd2e3ce6c0a49c7fd69ac2c3894519b91f242d9e4d2e0cda1f0c70187448994ad13a4c69540ad5e273a876d6c9', '\x152782ae56ab4a4e152782ae56ab4a4e152782ae56ab4a4e');
INSERT INTO public.id_pages VALUES (1, 1429675707, 2, '\xa972cd3fa02fd44f487078de451f5f6ccd18ec08f6a4e724d26facd2aeb0daf2', '\x152782ae56ab4a4e152782ae56ab4a4e');
INSERT INTO public.id_pages VALUES (2, 1112150725, 0, '\x0b8216fa818e50225db52062a5693267246dee453351e4d3ca3aca414c46c1682afad1a4022cb28c6202f315321d0e07', '\x9c5d038ca7e0f8e09c5d038ca7e0f8e09c5d038ca7e0f8e0');
INSERT INTO public.id_pages VALUES (2, 1112150725, 1, '\x353297dd2e3ce6c0a49c7fd69ac2c3894519b91f242d9e4d2e0cda1f0c70187448994ad13a4c69540ad5e273a876d6c9', '\x9c5d038ca7e0f8e09c5d038ca7e0f8e09c5d038ca7e0f8e0');
INSERT INTO public.id_pages VALUES (2, 1112150725, 2, '\xa972cd3fa02fd44f487078de451f5f6ccd18ec08f6a4e724d26facd2aeb0daf2', '\x9c5d038ca7e0f8e09c5d038ca7e0f8e0');
INSERT INTO public.id_runs VALUES (1, 1429675707, 8, 1);
INSERT INTO public.id_runs VALUES (2, 1112150725, 8, 1);
INSERT INTO public.models VALUES (1, 1, 1800000000, '{}', '\x6d6f64656c');
INSERT INTO public.public_data VALUES (1, 10, '\x5038fb79fd61e43f74b6207e2f44d13fd09b9d527bfaa43fc00b4dd89eec903fca9b054f4f06ea3f03c8342f4b35ed3fb61d306e8f69e33f5310ff2b0958e73f8f3bf43c6065e13fd7eaf1001deced3f', '\x0000000000000000000000000000f03f000000000000f03f00000000000000000000000000000000000000000000f03f000000000000f03f0000000000000000000000000000f03f000000000000f03f', NULL, NULL);
INSERT INTO public.public_data VALUES (2, 10, '\x5038fb79fd61e43f74b6207e2f44d13fd09b9d527bfaa43fc00b4dd89eec903fca9b054f4f06ea3f03c8342f4b35ed3fb61d306e8f69e33f5310ff2b0958e73f8f3bf43c6065e13fd7eaf1001deced3f', '\x0000000000000000000000000000f03f000000000000f03f00000000000000000000000000000000000000000000f03f000000000000f03f0000000000000000000000000000f03f000000000000f03f', '\x61207075626c6963206d6f64656c20746861742063616d6520616c6f6e67', '\x5038fb79fd61e43f74b6207e2f44d13fd09b9d527bfaa43fc00b4dd89eec903fca9b054f4f06ea3f03c8342f4b35ed3fb61d306e8f69e33f5310ff2b0958e73f8f3bf43c6065e13fd7eaf1001deced3f');
INSERT INTO public.report_ids VALUES (1, '\x226c1a989beeb371449542b731c1c0e3', -6827795483245957312);
INSERT INTO public.report_ids VALUES (1, '\x57041702bda302b0cff982e209b58ba1', -6827795483245957312);
INSERT INTO public.report_ids VALUES (1, '\x609d8cfa8dd3e3db5cc7c5247814409e', -6827795483245957312);
INSERT INTO public.report_ids VALUES (1, '\x81e2fb2d187d8adb99137d4fdd30c8eb', 2859281312768030522);
INSERT INTO public.report_ids VALUES (1, '\x9a02b4d9e51c74a8dfba31a9db15302a', 3786690831086454574);
INSERT INTO public.report_ids VALUES (2, '\x2d6a043a0457d2703d0ae25412e745c1', -1099515887056621320);
INSERT INTO public.report_ids VALUES (2, '\x6fb6c95823cc3a4891ada9856b1e14bf', -7059051525339865379);
INSERT INTO public.report_ids VALUES (2, '\x89af1488a64465c633b2c86470aee667', -7059051525339865379);
INSERT INTO public.report_ids VALUES (2, '\xc4827d9cd08e209a849fff8b114942a4', -7059051525339865379);
INSERT INTO public.report_ids VALUES (2, '\xd0f672eb8dec64f11c197164524fd923', -7059051525339865379);
INSERT INTO public.sums VALUES (1, 0, 1799971200, 0, 1, 5, '\x0301010000', 1, '\xb55d3a203f16fd86');
INSERT INTO public.sums VALUES (1, 0, 1800057600, 0, 1, 8, '\x0000000800', 1, '\xead18d1e66321250');
INSERT INTO public.sums VALUES (2, 0, 1799971200, 0, 1, 5, '\x0401000000', 1, '\x2b4a1fe26e83e18e');
INSERT INTO public.sums VALUES (2, 0, 1800057600, 0, 1, 8, '\x0000000800', 1, '\xead18d1e66321250');
INSERT INTO public.tasks VALUES (1, '495a0c0e32e2738d2e0092caa4cc435b757cc7a0059b64757df35a317b0ac01a', 'open', 1800000000, 1800000000, NULL, NULL, false, false, NULL, NULL, '\x8aaa616c6c6f636174696f6ea3616c6ca6636c6f736573c0ab6465736372697074696f6ea0a866656174757265739185a468696768cb3ff0000000000000a46b696e64a76e756d65726963a36c6f77cb0000000000000000a76d697373696e67c0a46e616d65a178a56c6162656c83a7636c617373657392a26e6fa3796573a46b696e64a7636c6173736573a46e616d65a179a46e616d65a36f6e65a56f70656e73c0aa706172746974696f6e739185a7636f6c756d6e7301a7666561747572659300ffffa46c6566749301ffffa572696768749302ffffa97468726573686f6c6493cb3fe0000000000000cb0000000000000000cb0000000000000000a97175657374696f6e739185a461736b73a56c6162656ca7657073696c6f6ecb3ff0000000000000a96d656368616e69736da6737562736574aa706172616d657465727380a9706172746974696f6e00a776657273696f6e04', '{}', NULL);
INSERT INTO public.tasks VALUES (2, 'dbf401f10e16fc67ffd66833f732b006f423e3d5a182e4ffc17c276e0f52e235', 'open', 1800000000, 1800000000, NULL, NULL, false, false, NULL, NULL, '\x8aaa616c6c6f636174696f6ea3616c6ca6636c6f736573c0ab6465736372697074696f6ea0a866656174757265739185a468696768cb3ff0000000000000a46b696e64a76e756d65726963a36c6f77cb0000000000000000a76d697373696e67c0a46e616d65a178a56c6162656c83a7636c617373657392a26e6fa3796573a46b696e64a7636c6173736573a46e616d65a179a46e616d65a374776fa56f70656e73c0aa706172746974696f6e739185a7636f6c756d6e7301a7666561747572659300ffffa46c6566749301ffffa572696768749302ffffa97468726573686f6c6493cb3fe0000000000000cb0000000000000000cb0000000000000000a97175657374696f6e739185a461736b73a56c6162656ca7657073696c6f6ecb3ff0000000000000a96d656368616e69736da6737562736574aa706172616d657465727380a9706172746974696f6e00a776657273696f6e04', '{"public_model": "be6e6e2aeae456fc430a68c6fc6511539ec084035bfc03c152e1491460bb450b", "register": "ff9aeca5667711c32e9f1747c84c08ba9d71cd28ff4bdd53ff8b80843dc6bc5e"}', NULL);
INSERT INTO public.tokens VALUES ('ops', 'admin', '\xed55b909df601481ca21dbea92c8de17ea1b2f85ee898ad450946106ce8139f1', 1800000000, NULL, NULL);
SELECT pg_catalog.setval('public.audit_no_seq', 1, false);
SELECT pg_catalog.setval('public.tasks_no_seq', 2, true);
ALTER TABLE ONLY public.admissions
    ADD CONSTRAINT admissions_pkey PRIMARY KEY (task_no, id);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.aliases
    ADD CONSTRAINT aliases_pkey PRIMARY KEY (task_no, alias);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (no);
ALTER TABLE ONLY public.buckets
    ADD CONSTRAINT buckets_pkey PRIMARY KEY (task_no, starts, curator);
ALTER TABLE ONLY public.deleted_tasks
    ADD CONSTRAINT deleted_tasks_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.facts
    ADD CONSTRAINT facts_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.held
    ADD CONSTRAINT held_pkey PRIMARY KEY (task_no, relay);
ALTER TABLE ONLY public.id_pages
    ADD CONSTRAINT id_pages_pkey PRIMARY KEY (task_no, run, page);
ALTER TABLE ONLY public.id_runs
    ADD CONSTRAINT id_runs_pkey PRIMARY KEY (task_no, run);
ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (task_no, digest);
ALTER TABLE ONLY public.leftovers
    ADD CONSTRAINT leftovers_pkey PRIMARY KEY (task_no);
ALTER TABLE ONLY public.models
    ADD CONSTRAINT models_pkey PRIMARY KEY (task_no, number);
ALTER TABLE ONLY public.payload_events
    ADD CONSTRAINT payload_events_pkey PRIMARY KEY (task_no, question, way, curator);
ALTER TABLE ONLY public.public_data
    ADD CONSTRAINT public_data_pkey PRIMARY KEY (task_no);
ALTER TABLE ONLY public.rejects
    ADD CONSTRAINT rejects_pkey PRIMARY KEY (task_no, reason);
ALTER TABLE ONLY public.relayed
    ADD CONSTRAINT relayed_pkey PRIMARY KEY (task_no, relay, starts, curator);
ALTER TABLE ONLY public.report_ids
    ADD CONSTRAINT report_ids_pkey PRIMARY KEY (task_no, id);
ALTER TABLE ONLY public.seen
    ADD CONSTRAINT seen_pkey PRIMARY KEY (no);
ALTER TABLE ONLY public.sums
    ADD CONSTRAINT sums_pkey PRIMARY KEY (task_no, question, starts, curator, part);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_id_key UNIQUE (id);
ALTER TABLE ONLY public.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (no);
ALTER TABLE ONLY public.tokens
    ADD CONSTRAINT tokens_pkey PRIMARY KEY (name);
