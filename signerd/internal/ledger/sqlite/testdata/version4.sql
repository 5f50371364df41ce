-- A ledger as version 4 wrote it, with one unresolved reservation, one named recipient, what the reservation pays, and one executed action with a name.
CREATE TABLE meta (
	name  TEXT PRIMARY KEY,
	value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO meta VALUES ('newest', 0);

CREATE TABLE anchor (
	id   INTEGER PRIMARY KEY CHECK (id = 1),
	seq  BLOB NOT NULL,
	hash BLOB NOT NULL
);

CREATE TABLE proposal (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	code_hash   BLOB UNIQUE,
	state       INTEGER NOT NULL,
	finished_at INTEGER NOT NULL,
	body        TEXT NOT NULL,
	receipt     BLOB
);
CREATE INDEX proposal_state ON proposal (state) WHERE state IN (1, 2);

CREATE TABLE entry (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE,
	scope       TEXT NOT NULL,
	proposal    TEXT NOT NULL,
	position    INTEGER NOT NULL,
	session     TEXT NOT NULL,
	reserved_at INTEGER NOT NULL,
	height      BLOB NOT NULL,
	digest      BLOB NOT NULL,
	outcome     INTEGER NOT NULL,
	settled_at  INTEGER NOT NULL,
	raw         BLOB,
	signature   BLOB
);
CREATE INDEX entry_unresolved ON entry (scope) WHERE outcome = 0;
CREATE INDEX entry_reserved ON entry (scope, reserved_at);
CREATE INDEX entry_settled ON entry (settled_at);
CREATE INDEX entry_proposal ON entry (proposal);
CREATE INDEX entry_signature ON entry (signature) WHERE signature IS NOT NULL;

CREATE TABLE charge (
	entry   INTEGER NOT NULL REFERENCES entry (seq),
	mint    BLOB NOT NULL,
	held    BLOB NOT NULL,
	charged BLOB,
	PRIMARY KEY (entry, mint)
) WITHOUT ROWID;

CREATE TABLE spent_day (
	scope  TEXT NOT NULL,
	bucket INTEGER NOT NULL,
	mint   BLOB NOT NULL,
	amount BLOB NOT NULL,
	PRIMARY KEY (scope, bucket, mint)
) WITHOUT ROWID;

CREATE TABLE spent_session (
	scope   TEXT NOT NULL,
	session TEXT NOT NULL,
	mint    BLOB NOT NULL,
	amount  BLOB NOT NULL,
	PRIMARY KEY (scope, session, mint)
) WITHOUT ROWID;

INSERT INTO entry VALUES (1, 'r1', 'scope', 'p1', 0, 's', 1772625600000000000, x'0000000000000000', x'0000000000000000000000000000000000000000000000000000000000000000', 0, 0, NULL, NULL);
INSERT INTO charge VALUES (1, x'0000000000000000000000000000000000000000000000000000000000000000', x'0000000000000005', NULL);
PRAGMA application_id = 1129539438;
CREATE TABLE recipient (
		name     TEXT PRIMARY KEY COLLATE NOCASE,
		address  BLOB NOT NULL UNIQUE,
		added_at INTEGER NOT NULL
	) WITHOUT ROWID;
INSERT INTO recipient VALUES ('carol', x'0909090909090909090909090909090909090909090909090909090909090909', 1772625600000000000);

CREATE TABLE payment (
		entry     INTEGER NOT NULL REFERENCES entry (seq),
		recipient BLOB NOT NULL,
		mint      BLOB NOT NULL,
		amount    BLOB NOT NULL,
		PRIMARY KEY (entry, recipient, mint)
	) WITHOUT ROWID;
	CREATE TABLE paid_day (
		scope     TEXT NOT NULL,
		bucket    INTEGER NOT NULL,
		recipient BLOB NOT NULL,
		mint      BLOB NOT NULL,
		amount    BLOB NOT NULL,
		PRIMARY KEY (scope, bucket, recipient, mint)
	) WITHOUT ROWID;
INSERT INTO payment VALUES (1, x'0909090909090909090909090909090909090909090909090909090909090909', x'0000000000000000000000000000000000000000000000000000000000000000', x'0000000000000004');

CREATE TABLE action (
		key      TEXT PRIMARY KEY,
		proposal TEXT NOT NULL
	) WITHOUT ROWID;
INSERT INTO proposal VALUES (1, 'p1', x'0101010101010101010101010101010101010101010101010101010101010101', 3, 1772625600000000000, '{"ID":"p1"}', x'7b7d');
INSERT INTO action VALUES ('given rent', 'p1');
PRAGMA user_version = 4;
