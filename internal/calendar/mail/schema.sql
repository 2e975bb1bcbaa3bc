-- Tables of the mail worker. Times are milliseconds since 1970 in UTC.

CREATE TABLE IF NOT EXISTS messages (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         BLOB NOT NULL UNIQUE,          -- hash of origin and content: a message that is received again is known
	source      TEXT NOT NULL,                 -- smtp or imap
	remote      TEXT NOT NULL,                 -- address of the SMTP client
	received_at INTEGER NOT NULL,
	raw         BLOB NOT NULL,
	size        INTEGER NOT NULL,
	message_id  TEXT NOT NULL DEFAULT '',
	subject     TEXT NOT NULL DEFAULT '',
	sender      TEXT NOT NULL DEFAULT '',
	domain      TEXT NOT NULL DEFAULT '',      -- organizational domain of the authenticated sender
	auth        TEXT NOT NULL DEFAULT '',      -- how the sender was authenticated
	sealed      INTEGER NOT NULL DEFAULT 0,    -- 1: the sender has written the structure of the body
	addressed   INTEGER NOT NULL DEFAULT 0,    -- 1: the sender has sent it to a recipient
	verdict     TEXT NOT NULL,                 -- waiting, accepted, ignored, refused or failed
	detail      TEXT NOT NULL DEFAULT '',
	since       INTEGER NOT NULL,              -- from when the time for retries counts
	attempts    INTEGER NOT NULL DEFAULT 0,
	next_at     INTEGER,                       -- when to process it; NULL if that is done
	reply       TEXT NOT NULL DEFAULT '',      -- empty, waiting, sent or failed
	reply_at    INTEGER,                       -- when to send the reply; NULL if there is nothing to send
	reply_attempts INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS messages_size ON messages (size);
CREATE INDEX IF NOT EXISTS messages_next ON messages (next_at) WHERE next_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_reply ON messages (reply_at) WHERE reply_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS messages_sender ON messages (sender, received_at);
CREATE INDEX IF NOT EXISTS messages_domain ON messages (domain, next_at);

-- A meeting is a calendar event with all its changed occurrences.
CREATE TABLE IF NOT EXISTS meetings (
	organizer  TEXT NOT NULL,
	uid        TEXT NOT NULL,
	domain     TEXT NOT NULL,                  -- of the sender, whose quota it uses; empty without a quota
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	attempts   INTEGER NOT NULL DEFAULT 0,
	next_at    INTEGER,                        -- when to schedule further occurrences; NULL if there are none
	PRIMARY KEY (organizer, uid)
);
CREATE INDEX IF NOT EXISTS meetings_domain ON meetings (domain, created_at) WHERE domain <> '';
CREATE INDEX IF NOT EXISTS meetings_next ON meetings (next_at) WHERE next_at IS NOT NULL;

-- The latest versions of an event (original 0) and of its changed occurrences.
CREATE TABLE IF NOT EXISTS events (
	organizer  TEXT NOT NULL,
	uid        TEXT NOT NULL,
	original   INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	stamp      INTEGER NOT NULL,
	assumed    INTEGER NOT NULL,               -- 1: the event names no organizer
	named      INTEGER NOT NULL,               -- 1: the sender may schedule the meetings of others
	message    INTEGER NOT NULL REFERENCES messages (id),
	PRIMARY KEY (organizer, uid, original),
	FOREIGN KEY (organizer, uid) REFERENCES meetings (organizer, uid) ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS events_message ON events (message);
CREATE INDEX IF NOT EXISTS events_uid ON events (uid, original);

-- What the service was asked for.
CREATE TABLE IF NOT EXISTS occurrences (
	organizer   TEXT NOT NULL,
	uid         TEXT NOT NULL,
	original    INTEGER NOT NULL,
	ical_uid    TEXT NOT NULL,                 -- under which the service knows it
	starts_at   INTEGER NOT NULL,
	ends_at     INTEGER NOT NULL,
	meeting_url TEXT NOT NULL,
	platform    TEXT NOT NULL,
	kind        TEXT NOT NULL,                 -- of the service's answer
	job         TEXT NOT NULL,
	summary     TEXT NOT NULL,
	zone        TEXT NOT NULL,
	PRIMARY KEY (organizer, uid, original),
	FOREIGN KEY (organizer, uid) REFERENCES meetings (organizer, uid) ON DELETE CASCADE
);

-- The changes of jobs that a message caused, for people.
CREATE TABLE IF NOT EXISTS changes (
	message   INTEGER NOT NULL REFERENCES messages (id) ON DELETE CASCADE,
	job       TEXT NOT NULL,
	kind      TEXT NOT NULL,                   -- scheduled, moved, updated, cancelled, dismissed or free_tier_exhausted
	summary   TEXT NOT NULL,
	starts_at INTEGER NOT NULL,
	zone      TEXT NOT NULL,
	PRIMARY KEY (message, job, kind)
);

CREATE TABLE IF NOT EXISTS mailboxes (
	name          TEXT PRIMARY KEY,
	uid_validity  INTEGER NOT NULL,
	uid           INTEGER NOT NULL,            -- of the last message that was stored or refused
	first_seen_at INTEGER NOT NULL             -- older messages are not read
);

-- Permissions to read mailboxes with OAuth 2.0.
CREATE TABLE IF NOT EXISTS tokens (
	mailbox       TEXT PRIMARY KEY,
	refresh_token TEXT NOT NULL,
	updated_at    INTEGER NOT NULL
);
