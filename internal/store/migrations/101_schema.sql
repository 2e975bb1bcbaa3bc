-- One text for SQLite and PostgreSQL. Times are milliseconds since 1970 UTC,
-- identifiers are UUIDs in text, JSON is kept as text, flags are 0 or 1.

CREATE TABLE consumers (
    id                      TEXT PRIMARY KEY,
    name                    TEXT NOT NULL UNIQUE,
    email                   TEXT NOT NULL DEFAULT '',
    webhook_secret          TEXT NOT NULL,
    previous_secret         TEXT NOT NULL DEFAULT '',
    previous_secret_expires BIGINT,
    webhook_url             TEXT NOT NULL DEFAULT '',
    webhook_version         BIGINT NOT NULL DEFAULT 2 CHECK (webhook_version IN (1, 2)),
    created_at              BIGINT NOT NULL,
    retention_ms            BIGINT, -- of recordings; NULL: the default of the service; 0: forever
    job_retention_ms        BIGINT, -- likewise
    transcript_event        BIGINT NOT NULL DEFAULT 0 CHECK (transcript_event IN (0, 1)), -- receives job.transcript_ready
    command_event           BIGINT NOT NULL DEFAULT 0 CHECK (command_event IN (0, 1)), -- receives bot.command_outcome
    recording               TEXT NOT NULL DEFAULT '{}', -- options of jobs that do not set their own
    output                  TEXT NOT NULL DEFAULT 'null', -- likewise
    sign_in                 TEXT NOT NULL DEFAULT '', -- likewise
    event_sequence          BIGINT NOT NULL DEFAULT 0 -- of its last event without a job
);
CREATE INDEX consumers_email ON consumers (lower(email));

CREATE TABLE users (
    id              TEXT PRIMARY KEY,
    consumer_id     TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    email           TEXT NOT NULL UNIQUE,     -- lower case
    name            TEXT NOT NULL,
    operator        BIGINT NOT NULL,          -- 1: sees all consumers and the machine
    founder         BIGINT UNIQUE,            -- 1 for the first user, else NULL
    password_hash   TEXT NOT NULL DEFAULT '', -- argon2id; empty for users who sign in with OpenID Connect
    oidc_issuer     TEXT NOT NULL DEFAULT '',
    oidc_subject    TEXT NOT NULL DEFAULT '',
    created_at      BIGINT NOT NULL,
    last_sign_in_at BIGINT,
    role            TEXT NOT NULL DEFAULT 'admin'
);
CREATE INDEX users_consumer ON users (consumer_id, email);
CREATE UNIQUE INDEX users_identity ON users (oidc_issuer, oidc_subject) WHERE oidc_issuer <> '';

CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    consumer_id  TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode         TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    prefix       TEXT NOT NULL,
    hash         TEXT NOT NULL UNIQUE,
    created_at   BIGINT NOT NULL,
    created_by   TEXT NOT NULL DEFAULT '', -- e-mail of a user, or "command line"; empty when unknown
    last_used_at BIGINT,
    revoked_at   BIGINT,
    name         TEXT NOT NULL DEFAULT '',
    scope        TEXT NOT NULL DEFAULT 'admin',
    expires_at   BIGINT,
    user_id      TEXT REFERENCES users (id) ON DELETE CASCADE, -- to whom it belongs; NULL: the team
    reference    BIGINT NOT NULL DEFAULT 0 -- 1: of the API reference
);
CREATE INDEX api_keys_consumer ON api_keys (consumer_id, id);
CREATE INDEX api_keys_user ON api_keys (user_id) WHERE user_id IS NOT NULL;

-- Requests with an Idempotency-Key.
CREATE TABLE kept_requests (
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode        TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    key         TEXT NOT NULL,
    hash        TEXT NOT NULL, -- of the operation and the body
    at          BIGINT NOT NULL,
    answer      TEXT NOT NULL DEFAULT '', -- encrypted; empty while it is being made
    PRIMARY KEY (consumer_id, mode, key)
);
CREATE INDEX kept_requests_expiry ON kept_requests (at);

CREATE TABLE sessions (
    hash         TEXT PRIMARY KEY, -- hex SHA-256; only the cookie has the secret
    user_id      TEXT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    created_at   BIGINT NOT NULL,
    last_seen_at BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE invitations (
    hash        TEXT PRIMARY KEY, -- hex SHA-256; only the link has the token
    consumer_id TEXT REFERENCES consumers (id) ON DELETE CASCADE, -- NULL for the first user, who enters one
    email       TEXT NOT NULL,    -- lower case; empty for the first user
    operator    BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    expires_at  BIGINT NOT NULL,
    role        TEXT NOT NULL DEFAULT 'admin'
);
CREATE INDEX invitations_consumer ON invitations (consumer_id, created_at);
CREATE INDEX invitations_email ON invitations (email);
CREATE INDEX invitations_expiry ON invitations (expires_at);

-- Who changed keys, users and settings.
CREATE TABLE audit_log (
    id          TEXT PRIMARY KEY,
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    at          BIGINT NOT NULL,
    actor       TEXT NOT NULL,
    action      TEXT NOT NULL,
    target      TEXT NOT NULL
);
CREATE INDEX audit_log_consumer ON audit_log (consumer_id, id);
CREATE INDEX audit_log_expiry ON audit_log (at);

CREATE TABLE device_flows (
    nonce_hash     TEXT PRIMARY KEY,         -- hex SHA-256
    client_address TEXT NOT NULL,            -- limits of open flows apply to it
    agent          TEXT NOT NULL DEFAULT '', -- how the client describes itself
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL,
    sealed         TEXT NOT NULL DEFAULT '', -- the credentials, encrypted under the nonce; empty while pending
    sealed_bytes   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX device_flows_expiry ON device_flows (expires_at);
CREATE INDEX device_flows_client ON device_flows (client_address, expires_at);
CREATE INDEX device_flows_long ON device_flows (sealed_bytes, expires_at) WHERE sealed_bytes > 4096;

-- One row, locked while flows are counted and one is added.
CREATE TABLE device_flow_lock (id BIGINT PRIMARY KEY CHECK (id = 1));
INSERT INTO device_flow_lock (id) VALUES (1);

-- Texts are empty if an event does not contain them.
CREATE TABLE payment_events (
    id              TEXT PRIMARY KEY, -- the provider's
    type            TEXT NOT NULL,
    created_at      BIGINT NOT NULL,  -- the provider's time, which orders events
    received_at     BIGINT NOT NULL,
    effect          TEXT NOT NULL,
    subscription_id TEXT NOT NULL,
    customer_id     TEXT NOT NULL,
    consumer        TEXT NOT NULL, -- ID or name
    email           TEXT NOT NULL, -- lower case
    plan            TEXT NOT NULL,
    status          TEXT NOT NULL,
    period_end      BIGINT
);
CREATE INDEX payment_events_subscription ON payment_events (subscription_id) WHERE subscription_id <> '';
CREATE INDEX payment_events_customer ON payment_events (customer_id) WHERE customer_id <> '';

-- Derived from payment_events. The consumer is looked up when a plan is read.
CREATE TABLE subscriptions (
    id          TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL DEFAULT '',
    consumer    TEXT NOT NULL DEFAULT '',
    plan        TEXT NOT NULL DEFAULT '',
    status      TEXT NOT NULL DEFAULT '',
    period_end  BIGINT
);
CREATE INDEX subscriptions_customer ON subscriptions (customer_id) WHERE customer_id <> '';
CREATE INDEX subscriptions_consumer ON subscriptions (consumer) WHERE consumer <> '';

-- Derived from payment_events.
CREATE TABLE payment_customers (
    id       TEXT PRIMARY KEY,
    consumer TEXT NOT NULL DEFAULT '',
    email    TEXT NOT NULL DEFAULT ''
);
CREATE INDEX payment_customers_consumer ON payment_customers (consumer) WHERE consumer <> '';
CREATE INDEX payment_customers_email ON payment_customers (email) WHERE email <> '';

CREATE TABLE nodes (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,   -- for people
    base_url     TEXT NOT NULL,   -- where consumers reach the service
    started_at   BIGINT NOT NULL,
    heartbeat_at BIGINT NOT NULL,
    bots         BIGINT NOT NULL, -- that use capacity
    capacity     BIGINT NOT NULL, -- in bots
    full_reason  TEXT NOT NULL,   -- why it cannot run one more bot now; empty while it can
    start_ms     BIGINT NOT NULL  -- from the launch of its bots until they can join; 0 while unknown
);

-- Round-robin between consumers when capacity is short. No reference to consumers: a
-- claim must not wait for a lock on one.
CREATE TABLE consumer_rotation (
    consumer_id TEXT PRIMARY KEY,
    position    BIGINT NOT NULL -- increases with each claim: the lowest is served next
);

CREATE TABLE jobs (
    id                   TEXT PRIMARY KEY,
    consumer_id          TEXT NOT NULL REFERENCES consumers (id),
    mode                 TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    external_id          TEXT NOT NULL,
    external_hash        TEXT NOT NULL, -- its SHA-256: an externalId may be longer than an index entry
    meeting_url          TEXT NOT NULL,
    meeting_key          TEXT NOT NULL DEFAULT '', -- SHA-256 of what identifies the meeting, however its link is written
    platform             TEXT NOT NULL,
    display_name         TEXT NOT NULL,
    join_at              BIGINT NOT NULL,
    created_at           BIGINT NOT NULL,
    on_status_change     TEXT NOT NULL,
    on_finalize          TEXT NOT NULL,
    metadata             TEXT NOT NULL,
    auto_leave           TEXT NOT NULL,
    options              TEXT NOT NULL DEFAULT '{}', -- the typed options of the request
    by_event             BIGINT NOT NULL DEFAULT 0, -- 1: events of the team's calendars or invitations have created it
    requested            BIGINT NOT NULL DEFAULT 0, -- 1: a request to the API asks for it too

    -- the state machine
    status               TEXT NOT NULL,
    previous_status      TEXT NOT NULL DEFAULT '',
    status_since         BIGINT NOT NULL,
    attempts             BIGINT NOT NULL DEFAULT 0,
    attempt              BIGINT NOT NULL DEFAULT 0,
    started_at           BIGINT,
    finalized_at         BIGINT,
    manifest_uri         TEXT NOT NULL DEFAULT '',
    failure_code         TEXT NOT NULL DEFAULT '',
    failure_detail       TEXT NOT NULL DEFAULT '',
    sequence             BIGINT NOT NULL DEFAULT 0, -- of the job's last webhook event

    -- dispatch
    wake_at              BIGINT, -- when the dispatcher processes the job next
    lease                TEXT NOT NULL DEFAULT '',
    node                 TEXT NOT NULL DEFAULT '', -- that runs the bot of the current attempt
    sound_url            TEXT NOT NULL DEFAULT '', -- of the node to which the bot sends live sound; empty while to none
    prelaunch            TEXT NOT NULL DEFAULT '', -- launched, withdrawn or skipped
    attempt_started_at   BIGINT,
    launched_at          BIGINT, -- of the current attempt; NULL until its bot was started
    launch_failures      BIGINT NOT NULL DEFAULT 0,
    launch_error         TEXT NOT NULL DEFAULT '',
    heartbeat_at         BIGINT, -- of the current attempt
    bot_lost             TEXT NOT NULL DEFAULT '', -- why the bot of the current attempt ended before its time; empty while nothing is known
    stats                TEXT NOT NULL DEFAULT '',
    bot_events           BIGINT NOT NULL DEFAULT 0, -- number and bytes of the events that its bots have reported
    bot_event_bytes      BIGINT NOT NULL DEFAULT 0,
    summary              TEXT NOT NULL DEFAULT '{}', -- of the meeting and the recording, for people

    recording_deleted_at BIGINT,
    recording_deleted_by TEXT NOT NULL DEFAULT '',
    recording_erased_at  BIGINT, -- when nothing of it was left in storage

    -- no job can hang: one that has not ended has a time at which it is processed
    CHECK (wake_at IS NOT NULL OR status IN ('completed', 'failed', 'cancelled'))
);
CREATE UNIQUE INDEX jobs_external ON jobs (consumer_id, mode, external_hash);
CREATE INDEX jobs_by_event ON jobs (consumer_id, created_at) WHERE by_event = 1;
CREATE INDEX jobs_meeting ON jobs (consumer_id, mode, meeting_key, join_at);
-- lists, with all that filters compare
CREATE INDEX jobs_created ON jobs (consumer_id, mode, created_at, id, status, platform, join_at);
CREATE INDEX jobs_failed ON jobs (mode, status_since, failure_code, platform, id) WHERE status = 'failed';
-- due jobs, and among them those that need no capacity
CREATE INDEX jobs_wake ON jobs (wake_at, status) WHERE wake_at IS NOT NULL;
CREATE INDEX jobs_wake_others ON jobs (wake_at)
    WHERE wake_at IS NOT NULL AND NOT (status IN ('scheduled', 'pending') AND mode = 'live' AND prelaunch IN ('', 'skipped'));
-- live jobs that wait for their first bot
CREATE INDEX jobs_upcoming ON jobs (join_at) WHERE status IN ('scheduled', 'pending') AND mode = 'live';
-- what the bots of a node are, and what it had leased before a restart
CREATE INDEX jobs_dispatched ON jobs (status)
    WHERE status NOT IN ('scheduled', 'pending', 'completed', 'failed', 'cancelled');
CREATE INDEX jobs_prelaunched ON jobs (node) WHERE prelaunch IN ('launched', 'withdrawn');
CREATE INDEX jobs_leased ON jobs (lease) WHERE lease <> '';
-- retention: recordings that may be in storage, unfinished deletions, and jobs that can be erased
CREATE INDEX jobs_kept ON jobs (consumer_id, status_since, id)
    WHERE recording_deleted_at IS NULL AND wake_at IS NULL AND attempts > 0;
CREATE INDEX jobs_erasing ON jobs (recording_deleted_at)
    WHERE recording_deleted_at IS NOT NULL AND recording_erased_at IS NULL;
CREATE INDEX jobs_erasable ON jobs (consumer_id, status_since, id)
    WHERE wake_at IS NULL AND (manifest_uri = '' OR recording_erased_at IS NOT NULL);

-- With which bots sign in to meeting platforms.
CREATE TABLE accounts (
    id              TEXT PRIMARY KEY,
    consumer_id     TEXT REFERENCES consumers (id) ON DELETE CASCADE, -- NULL: of the operator
    teams           TEXT NOT NULL DEFAULT '[]', -- names of the consumers that may use one of the operator; empty: all
    platform        TEXT NOT NULL,
    label           TEXT NOT NULL,
    address         TEXT NOT NULL DEFAULT '', -- mail address, lower case
    account_group   TEXT NOT NULL DEFAULT '',
    max_meetings    BIGINT NOT NULL,
    file            TEXT NOT NULL DEFAULT '', -- name in the operator's folder
    saml            BIGINT NOT NULL DEFAULT 0, -- 1: signs in by SAML
    sealed          TEXT NOT NULL, -- cookies and browser profile, encrypted
    signed_in_until BIGINT,
    renewed_at      BIGINT NOT NULL, -- when its owner last signed in
    rests_until     BIGINT,
    last_used_at    BIGINT,
    created_at      BIGINT NOT NULL
);
CREATE UNIQUE INDEX accounts_label ON accounts (COALESCE(consumer_id, ''), platform, lower(label));
CREATE INDEX accounts_consumer ON accounts (consumer_id);

-- Apps of Zoom's marketplace that receive the media streams of meetings.
CREATE TABLE zoom_apps (
    id          TEXT PRIMARY KEY,
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    label       TEXT NOT NULL,
    client_id   TEXT NOT NULL,
    record      BIGINT NOT NULL, -- 1: each stream gets a job
    sealed      TEXT NOT NULL,   -- the secrets, encrypted
    heard_at    BIGINT,          -- when Zoom last sent an event
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX zoom_apps_client ON zoom_apps (consumer_id, client_id);

-- The streams that Zoom has announced, and, as "meeting <UUID>", the numbers of meetings that have begun.
CREATE TABLE zoom_streams (
    id           TEXT PRIMARY KEY,
    app_id       TEXT NOT NULL REFERENCES zoom_apps (id) ON DELETE CASCADE,
    meeting_uuid TEXT NOT NULL,
    meeting_key  TEXT NOT NULL, -- as of jobs
    number       TEXT NOT NULL,
    server_urls  TEXT NOT NULL,
    started_at   BIGINT NOT NULL,
    stopped_at   BIGINT,
    job_id       TEXT NOT NULL DEFAULT '' -- the job whose bot receives it
);
CREATE INDEX zoom_streams_meeting ON zoom_streams (meeting_key, started_at);
CREATE INDEX zoom_streams_app ON zoom_streams (app_id);
CREATE INDEX zoom_streams_job ON zoom_streams (job_id) WHERE job_id <> '';
CREATE INDEX zoom_streams_started ON zoom_streams (started_at);

-- What signs the accounts of a consumer, or of the operator (NULL), in by SAML.
CREATE TABLE saml_secrets (
    consumer_id TEXT REFERENCES consumers (id) ON DELETE CASCADE,
    sealed      TEXT NOT NULL -- key and certificate, encrypted
);
CREATE UNIQUE INDEX saml_secrets_consumer ON saml_secrets (COALESCE(consumer_id, ''));

-- An account is lent to a job until ended_at is set, or nothing is left to do for the job.
CREATE TABLE account_uses (
    account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    reason     TEXT NOT NULL,
    at         BIGINT NOT NULL,
    ended_at   BIGINT,
    PRIMARY KEY (account_id, job_id)
);
CREATE INDEX account_uses_job ON account_uses (job_id);
CREATE INDEX account_uses_at ON account_uses (account_id, at);

-- The newest picture of the page of a running job's bot, while somebody watches it.
CREATE TABLE screenshots (
    job_id        TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    watched_until BIGINT NOT NULL,
    taken_at      BIGINT, -- NULL without a picture
    image         TEXT NOT NULL -- JPEG in base64; empty without a picture
);

-- What tells of the events of a consumer: calendars that it has connected, and one row for its invitations by mail and one
-- for those by the API, which are never due.
CREATE TABLE calendars (
    id          TEXT PRIMARY KEY,
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    name        TEXT NOT NULL,
    sealed      TEXT NOT NULL, -- the address of the feed, encrypted
    address     TEXT NOT NULL, -- without what is secret, for people
    email       TEXT NOT NULL, -- of its owner, lower case; empty if unknown
    rules       TEXT NOT NULL,
    job         TEXT NOT NULL, -- settings of its jobs
    poll_ms     BIGINT NOT NULL,
    created_at  BIGINT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('waiting', 'active', 'failing')),
    error       TEXT NOT NULL, -- of the last read; empty unless it has failed
    failures    BIGINT NOT NULL,
    validators  TEXT NOT NULL, -- for conditional requests
    read_at     BIGINT,        -- when it was read completely
    synced_at   BIGINT,        -- when it was read, or had not changed
    due_at      BIGINT, -- when it is read next, or the end of the lease; NULL for invitations
    lease       TEXT NOT NULL,
    revision    BIGINT NOT NULL, -- of the settings
    deleted     BIGINT NOT NULL, -- 1: its jobs are to be cancelled, then it is removed
    provider    TEXT NOT NULL DEFAULT 'feed', -- or google, microsoft, mail, intake
    revoked     BIGINT NOT NULL DEFAULT 0,    -- 1: the owner has to give permission again
    watch       TEXT NOT NULL DEFAULT '{}',   -- the provider's notifications
    invited     TEXT NOT NULL DEFAULT ''      -- keys of the meetings to which an account was added
);
CREATE INDEX calendars_consumer ON calendars (consumer_id, id);
CREATE UNIQUE INDEX calendars_invitations ON calendars (consumer_id, provider) WHERE provider IN ('mail', 'intake');
CREATE INDEX calendars_due ON calendars (due_at);

-- The meetings in them.
CREATE TABLE calendar_events (
    id           TEXT PRIMARY KEY,
    calendar_id  TEXT NOT NULL REFERENCES calendars (id) ON DELETE CASCADE,
    consumer_id  TEXT NOT NULL, -- that of the calendar
    uid          TEXT NOT NULL,
    original     BIGINT NOT NULL, -- original start of an occurrence of a series; 0 for other events
    sequence     BIGINT NOT NULL,
    modified     BIGINT,
    title        TEXT NOT NULL,
    organizer    TEXT NOT NULL,
    starts_at    BIGINT NOT NULL,
    ends_at      BIGINT NOT NULL,
    zone         TEXT NOT NULL,
    meeting_url  TEXT NOT NULL,
    platform     TEXT NOT NULL,
    attendees    BIGINT NOT NULL,
    guests       TEXT NOT NULL DEFAULT '', -- hashes of their mail addresses, to find accounts among them
    response     TEXT NOT NULL,
    problem      TEXT NOT NULL, -- why it can get no bot; empty if it can
    rule_record  BIGINT NOT NULL, -- what the rules of the calendar say
    rule_reason  TEXT NOT NULL,
    updated_at   BIGINT NOT NULL, -- when the columns above changed
    overridden   BIGINT,          -- 1: a person wants a bot; 0: a person wants none; NULL: the rules decide
    missing_since BIGINT,         -- when the calendar first did not list it, while its bot is in the meeting
    removed      BIGINT NOT NULL, -- 1: the calendar no longer has it
    dirty        BIGINT NOT NULL, -- 1: its job is to be checked
    decided_start BIGINT,         -- starts_at when it was decided last
    told         BIGINT NOT NULL DEFAULT 0, -- 1: its organizer was told that a bot comes
    wanted       BIGINT NOT NULL, -- 1: its meeting's events ask for the job
    record       BIGINT NOT NULL, -- 1: a bot comes, whoever asks for it
    reason       TEXT NOT NULL,
    job_id       TEXT NOT NULL    -- empty without one; the job may be erased
);
CREATE UNIQUE INDEX calendar_events_identity ON calendar_events (calendar_id, uid, original);
CREATE INDEX calendar_events_meeting ON calendar_events (consumer_id, uid, original);
CREATE INDEX calendar_events_start ON calendar_events (calendar_id, starts_at, id);
CREATE INDEX calendar_events_dirty ON calendar_events (calendar_id) WHERE dirty = 1;
CREATE INDEX calendar_events_job ON calendar_events (job_id) WHERE job_id <> '';

-- The mail addresses and domains of a consumer beside its own address: invitations of these organizers are for it.
CREATE TABLE consumer_mail (
    address     TEXT PRIMARY KEY, -- in lower case; of a domain, it begins with @
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE
);

-- Messages that the mail worker has received.
CREATE TABLE mail_messages (
    id            TEXT PRIMARY KEY,
    message_key   TEXT NOT NULL UNIQUE,  -- hash of origin and content: a message that is received again is known
    source        TEXT NOT NULL,         -- smtp or imap
    remote        TEXT NOT NULL,         -- address of the SMTP client
    received_at   BIGINT NOT NULL,
    raw           TEXT NOT NULL,         -- in base64
    size          BIGINT NOT NULL,
    message_id    TEXT NOT NULL DEFAULT '',
    subject       TEXT NOT NULL DEFAULT '',
    sender        TEXT NOT NULL DEFAULT '',
    domain        TEXT NOT NULL DEFAULT '', -- organizational domain of the authenticated sender
    auth          TEXT NOT NULL DEFAULT '', -- how the sender was authenticated
    sealed        BIGINT NOT NULL DEFAULT 0, -- 1: the sender has written the structure of the body
    addressed     BIGINT NOT NULL DEFAULT 0, -- 1: the sender has sent it to a recipient
    verdict       TEXT NOT NULL,         -- waiting, accepted, ignored, refused or failed
    detail        TEXT NOT NULL DEFAULT '',
    since         BIGINT NOT NULL,       -- from when the time for retries counts
    attempts      BIGINT NOT NULL DEFAULT 0,
    next_at       BIGINT,                -- when to process it, or the end of the lease; NULL if that is done
    reply         TEXT NOT NULL DEFAULT '', -- empty, waiting, sent or failed
    reply_at      BIGINT,                -- when to send the reply, or the end of the lease; NULL if there is nothing to send
    reply_attempts BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX mail_messages_size ON mail_messages (size);
CREATE INDEX mail_messages_next ON mail_messages (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX mail_messages_reply ON mail_messages (reply_at) WHERE reply_at IS NOT NULL;
CREATE INDEX mail_messages_sender ON mail_messages (sender, received_at);
CREATE INDEX mail_messages_domain ON mail_messages (domain, next_at);

-- A meeting that mail tells of, with all its changed occurrences. Those for which there are jobs are calendar_events.
CREATE TABLE mail_meetings (
    id         TEXT PRIMARY KEY,
    organizer  TEXT NOT NULL,
    uid        TEXT NOT NULL,
    domain     TEXT NOT NULL,            -- of the sender, whose quota it uses; empty without a quota
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    revision   BIGINT NOT NULL DEFAULT 0, -- of its events
    attempts   BIGINT NOT NULL DEFAULT 0,
    next_at    BIGINT,                   -- when to schedule further occurrences; NULL if there are none
    UNIQUE (organizer, uid)
);
CREATE INDEX mail_meetings_uid ON mail_meetings (uid, updated_at);
CREATE INDEX mail_meetings_domain ON mail_meetings (domain, created_at) WHERE domain <> '';
CREATE INDEX mail_meetings_next ON mail_meetings (next_at) WHERE next_at IS NOT NULL;

-- The latest versions of an event (original 0) and of its changed occurrences.
CREATE TABLE mail_events (
    organizer  TEXT NOT NULL,
    uid        TEXT NOT NULL,
    original   BIGINT NOT NULL,
    sequence   BIGINT NOT NULL,
    stamp      BIGINT NOT NULL,
    assumed    BIGINT NOT NULL,          -- 1: the event names no organizer
    named      BIGINT NOT NULL,          -- 1: the sender may schedule the meetings of others
    message    TEXT NOT NULL REFERENCES mail_messages (id),
    PRIMARY KEY (organizer, uid, original),
    FOREIGN KEY (organizer, uid) REFERENCES mail_meetings (organizer, uid) ON DELETE CASCADE
);
CREATE INDEX mail_events_message ON mail_events (message);
CREATE INDEX mail_events_uid ON mail_events (uid, original);

-- The changes of jobs that a message caused, for people.
CREATE TABLE mail_changes (
    message   TEXT NOT NULL REFERENCES mail_messages (id) ON DELETE CASCADE,
    job       TEXT NOT NULL,
    kind      TEXT NOT NULL,             -- scheduled, moved, updated, cancelled, dismissed or free_tier_exhausted
    summary   TEXT NOT NULL,
    starts_at BIGINT NOT NULL,
    zone      TEXT NOT NULL,
    PRIMARY KEY (message, job, kind)
);

CREATE TABLE mailboxes (
    name          TEXT PRIMARY KEY,
    uid_validity  BIGINT NOT NULL,
    uid           BIGINT NOT NULL,       -- of the last message that was stored or refused
    first_seen_at BIGINT NOT NULL,       -- older messages are not read
    refresh_token TEXT NOT NULL DEFAULT '' -- permission to read it with OAuth 2.0, encrypted; empty without one
);

-- What the jobs of a consumer have used, by the day (UTC, counted since 1970) on which they ended.
CREATE TABLE usage_days (
    consumer_id   TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode          TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    day           BIGINT NOT NULL,
    part          BIGINT NOT NULL DEFAULT 0, -- the sum of all parts counts: transactions that end jobs at the same time lock different ones
    completed     BIGINT NOT NULL,
    failed        BIGINT NOT NULL,
    cancelled     BIGINT NOT NULL,
    recorded_ms   BIGINT NOT NULL,
    bot_ms        BIGINT NOT NULL,
    stored_bytes  BIGINT NOT NULL,
    deleted_bytes BIGINT NOT NULL, -- of recordings of any day
    core_ms       BIGINT NOT NULL DEFAULT 0, -- of one processor
    memory_ms     BIGINT NOT NULL DEFAULT 0, -- of one GiB
    PRIMARY KEY (consumer_id, mode, day, part)
);
CREATE INDEX usage_days_newest ON usage_days (day) WHERE mode = 'live';

-- Links that show a recording to people who are not signed in.
CREATE TABLE share_links (
    hash       TEXT PRIMARY KEY, -- hex SHA-256; only the link has the token
    job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    created_at BIGINT NOT NULL,
    created_by TEXT NOT NULL, -- e-mail of a user
    expires_at BIGINT NOT NULL
);
CREATE INDEX share_links_job ON share_links (job_id, created_at);
CREATE INDEX share_links_expiry ON share_links (expires_at);

-- What is left of an erased job, so that its externalId stays taken.
CREATE TABLE job_tombstones (
    id            TEXT PRIMARY KEY,
    consumer_id   TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode          TEXT NOT NULL,
    external_hash TEXT NOT NULL,
    platform      TEXT NOT NULL,
    join_at       BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    auto_leave    TEXT NOT NULL,
    status        TEXT NOT NULL,
    attempts      BIGINT NOT NULL,
    started_at    BIGINT,
    finalized_at  BIGINT,
    failure_code  TEXT NOT NULL,
    erased_at     BIGINT NOT NULL
);
CREATE UNIQUE INDEX job_tombstones_external ON job_tombstones (consumer_id, mode, external_hash);

CREATE TABLE timeline (
    job_id          TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    id              TEXT NOT NULL, -- version 7: in the order of arrival
    attempt         BIGINT NOT NULL,
    source          TEXT NOT NULL CHECK (source IN ('bot', 'service')),
    kind            TEXT NOT NULL,
    emitted_at      BIGINT NOT NULL,
    received_at     BIGINT NOT NULL,
    applied         BIGINT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '',
    previous_status TEXT NOT NULL,
    status          TEXT NOT NULL,
    data            TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (job_id, id)
);
CREATE INDEX timeline_identity ON timeline (job_id, attempt, kind, emitted_at) WHERE source = 'bot';

-- How attempts of live jobs ended. Without a code, another attempt followed or the job completed; without a cause, it completed.
CREATE TABLE attempt_ends (
    job_id   TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    attempt  BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    platform TEXT NOT NULL,
    account  TEXT NOT NULL, -- label of the account that the job used last; empty for a guest
    code     TEXT NOT NULL,
    cause    TEXT NOT NULL,
    capture  TEXT NOT NULL, -- file; empty if there is none
    PRIMARY KEY (job_id, attempt)
);
CREATE INDEX attempt_ends_failed ON attempt_ends (at) WHERE cause <> '';
CREATE INDEX attempt_ends_all ON attempt_ends (platform, account, at);

CREATE TABLE commands (
    id         TEXT PRIMARY KEY,
    job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    args       TEXT NOT NULL DEFAULT '',
    created_at BIGINT NOT NULL,
    acked_at   BIGINT
);
CREATE INDEX commands_waiting ON commands (job_id, id) WHERE acked_at IS NULL;
CREATE INDEX commands_of_kind ON commands (job_id, kind, id);

CREATE TABLE deliveries (
    id          TEXT PRIMARY KEY, -- dlv_…
    job_id      TEXT REFERENCES jobs (id) ON DELETE CASCADE, -- NULL: an event of the consumer
    subject     TEXT NOT NULL, -- the job, or else the consumer: sequence counts the events of a subject
    consumer_id TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode        TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    url         TEXT NOT NULL,
    endpoint    TEXT NOT NULL, -- webhook.EndpointKey: of limited length
    by_endpoint BIGINT NOT NULL DEFAULT 0, -- 1: only because a registered endpoint takes the event
    event       TEXT NOT NULL,
    sequence    BIGINT NOT NULL,
    emitted_at  BIGINT NOT NULL,
    version     BIGINT NOT NULL,
    data        TEXT NOT NULL,
    state       TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    due_at      BIGINT, -- of the next try, or the end of the lease; NULL in a final state
    not_before  BIGINT, -- when the receiver's Retry-After ends
    attempt     BIGINT NOT NULL DEFAULT 0, -- tries started
    failures    BIGINT NOT NULL DEFAULT 0, -- tries recorded as failed
    lease       TEXT NOT NULL DEFAULT '',
    ended_at    BIGINT,
    end_reason  TEXT NOT NULL DEFAULT '', -- of failed
    CHECK ((due_at IS NULL) = (state <> 'waiting'))
);
CREATE INDEX deliveries_due ON deliveries (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (endpoint, emitted_at, sequence, id) WHERE state = 'waiting';
CREATE INDEX deliveries_ahead ON deliveries (subject, endpoint, sequence) WHERE state = 'waiting';
CREATE INDEX deliveries_of_job ON deliveries (job_id, sequence, id);
CREATE INDEX deliveries_of_consumer ON deliveries (consumer_id, emitted_at, id) WHERE job_id IS NULL;
-- lists, with all that filters compare
CREATE INDEX deliveries_log ON deliveries (consumer_id, mode, emitted_at, id, state, event, endpoint);

CREATE TABLE delivery_tries (
    delivery_id   TEXT NOT NULL REFERENCES deliveries (id) ON DELETE CASCADE,
    number        BIGINT NOT NULL,
    started_at    BIGINT NOT NULL,
    latency_ms    BIGINT NOT NULL,
    status_code   BIGINT NOT NULL, -- 0 without a response
    error         TEXT NOT NULL,
    response_body TEXT NOT NULL,   -- the first KiB, in base64
    PRIMARY KEY (delivery_id, number)
);

-- Receivers of webhooks: those that jobs name, and those that consumers register with a choice of events.
CREATE TABLE webhook_endpoints (
    key               TEXT PRIMARY KEY,
    id                TEXT NOT NULL UNIQUE,
    consumer_id       TEXT NOT NULL REFERENCES consumers (id) ON DELETE CASCADE,
    mode              TEXT NOT NULL CHECK (mode IN ('live', 'test')),
    url               TEXT NOT NULL,
    registered        BIGINT NOT NULL DEFAULT 0, -- 0: only jobs name the URL
    -- of a registered endpoint:
    events            TEXT NOT NULL DEFAULT '', -- that it takes, separated by spaces
    live              BIGINT NOT NULL DEFAULT 0, -- no longer used: the next release removes it
    description       TEXT NOT NULL DEFAULT '',
    enabled           BIGINT NOT NULL DEFAULT 0,
    created_at        BIGINT,
    -- results of tries:
    failures          BIGINT NOT NULL DEFAULT 0, -- consecutive failed tries
    failing_since     BIGINT,                    -- when the first of them was made
    probe_at          BIGINT,                    -- of a dead endpoint: no try starts before
    last_try_at       BIGINT,                    -- of a success within a minute
    latency_ms        BIGINT NOT NULL DEFAULT 0, -- of that try
    last_status       BIGINT NOT NULL DEFAULT 0, -- of the last failure; 0 without a response
    last_error        TEXT NOT NULL DEFAULT '',
    last_delivered_at BIGINT                     -- within a minute
);
CREATE INDEX webhook_endpoints_consumer ON webhook_endpoints (consumer_id, mode, key);
CREATE INDEX webhook_endpoints_registered ON webhook_endpoints (consumer_id, mode, key) WHERE registered = 1;
CREATE INDEX webhook_endpoints_failing ON webhook_endpoints (failing_since) WHERE failing_since IS NOT NULL;

-- Alerts to operators, of all nodes.
CREATE TABLE alerts (
    name          TEXT NOT NULL,   -- of the rule, and its node
    channel       TEXT NOT NULL,   -- by which it is sent: webhook or mail
    firing        BIGINT NOT NULL, -- 1: an alert was sent, and not that it is resolved
    sent_at       BIGINT NOT NULL, -- 0: never
    claimed_until BIGINT NOT NULL, -- a node is sending until then
    PRIMARY KEY (name, channel)
);

-- Chat messages, captions, and what the live transcriber has heard.
CREATE TABLE meeting_texts (
    job_id         TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    attempt        BIGINT NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('chat', 'caption', 'transcript')),
    id             TEXT NOT NULL, -- chosen by the bot or the live transcriber
    sequence       BIGINT NOT NULL, -- of its last change within the job
    participant_id TEXT NOT NULL,
    author         TEXT NOT NULL,
    text           TEXT NOT NULL,
    language       TEXT NOT NULL,
    started_at     BIGINT NOT NULL,
    ended_at       BIGINT NOT NULL,
    speech         TEXT NOT NULL, -- of a transcript: revision, words and whether it is final, as JSON
    PRIMARY KEY (job_id, attempt, kind, id)
);
CREATE UNIQUE INDEX meeting_texts_sequence ON meeting_texts (job_id, sequence);

-- What the bots of a job have reported, with corrections.
CREATE TABLE meeting_text_totals (
    job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    texts  BIGINT NOT NULL, -- also the last sequence
    bytes  BIGINT NOT NULL
);

CREATE TABLE recording_tasks (
    job_id     TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,   -- transcript, or video: the composed picture
    created_at BIGINT NOT NULL,
    due_at     BIGINT,          -- NULL once it has ended
    lease      TEXT NOT NULL,   -- of the node that works on it until due_at
    failures   BIGINT NOT NULL, -- since the last response of the transcriber
    sent_ms    BIGINT NOT NULL, -- audio that the transcriber has accepted
    requested  TEXT NOT NULL,   -- options of a request to transcribe again, as JSON; empty for the first transcription
    PRIMARY KEY (job_id, kind)
);
CREATE INDEX recording_tasks_due ON recording_tasks (kind, due_at) WHERE due_at IS NOT NULL;

-- Responses of the transcriber, so that nothing is sent twice.
CREATE TABLE transcription_pieces (
    job_id   TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    piece    TEXT NOT NULL, -- file, start and end
    response TEXT NOT NULL,
    PRIMARY KEY (job_id, piece)
);

-- What the dashboard searches. The next migration creates the full-text index.
CREATE TABLE search_texts (
    id       BIGINT PRIMARY KEY, -- in the order of the jobs' creation; the row of the full-text index
    job_id   TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    owner    TEXT NOT NULL, -- consumer and mode, as one word
    kind     TEXT NOT NULL, -- chat, caption or transcript
    start_ms BIGINT NOT NULL,
    speaker  TEXT NOT NULL,
    text     TEXT NOT NULL
);
CREATE INDEX search_texts_job ON search_texts (job_id, start_ms);
