-- Times are nanoseconds since 1970, 0 for none; durations are nanoseconds.
-- Paths of files are relative to the directory beside the journal.

CREATE TABLE runs (
    id        TEXT PRIMARY KEY,
    started   INTEGER NOT NULL,
    ended     INTEGER NOT NULL DEFAULT 0,
    pid       INTEGER NOT NULL,
    version   TEXT NOT NULL,
    config    TEXT NOT NULL,
    python    TEXT NOT NULL,
    steps     INTEGER NOT NULL,
    workspace TEXT NOT NULL,
    run_dir   TEXT NOT NULL,
    task      TEXT NOT NULL DEFAULT '',
    name      TEXT NOT NULL DEFAULT '',
    drafts    INTEGER NOT NULL DEFAULT 0,
    debug_depth INTEGER NOT NULL DEFAULT 0,
    debug_prob  REAL NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX runs_by_age ON runs (started);

-- root is the interpreter from which all of its branches come.
CREATE TABLE interpreters (
    id                  TEXT PRIMARY KEY,
    run                 TEXT NOT NULL,
    client              TEXT NOT NULL,
    workdir             TEXT NOT NULL DEFAULT '',
    parent              TEXT NOT NULL DEFAULT '',
    root                TEXT NOT NULL,
    origin_interpreter  TEXT NOT NULL DEFAULT '',
    origin_execution    INTEGER NOT NULL DEFAULT 0,
    present_interpreter TEXT NOT NULL DEFAULT '',
    present_execution   INTEGER NOT NULL DEFAULT 0,
    created             INTEGER NOT NULL,
    ended               INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX interpreters_of_run ON interpreters (run, created);

-- owner is a client, or the root of anonymous callers' interpreters; a line
-- feed and a number follow in an owner's second and later ones. trials counts
-- the numbers that were given; best is an execution, 0 while there is none.
CREATE TABLE experiments (
    name   TEXT PRIMARY KEY,
    run    TEXT NOT NULL,
    owner  TEXT NOT NULL,
    number INTEGER NOT NULL,
    trials INTEGER NOT NULL DEFAULT 0,
    best   INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, owner)
) WITHOUT ROWID;

-- revision grows with each change within a run. detail is last, so that who reads
-- heads does not read it.
-- parent, follows, line and trial_parent are executions, 0 for none. line is the
-- nearest trial by follows; what belongs to trials is NULL for others, and analysis is
-- of the trials before.
CREATE TABLE executions (
    id           INTEGER PRIMARY KEY,
    revision     INTEGER NOT NULL,
    run          TEXT NOT NULL,
    interpreter  TEXT NOT NULL,
    number       INTEGER NOT NULL,
    client       TEXT NOT NULL,
    kind         TEXT NOT NULL,
    code         TEXT NOT NULL,
    arguments    TEXT,
    started      INTEGER NOT NULL,
    time_limit   INTEGER NOT NULL,
    parent       INTEGER NOT NULL,
    follows      INTEGER NOT NULL,
    line         INTEGER NOT NULL,
    experiment   TEXT,
    trial        INTEGER,
    plan         TEXT,
    trial_parent INTEGER,
    stage        TEXT,
    depth        INTEGER,
    metric_name  TEXT,
    maximize     INTEGER,
    metric       REAL,
    buggy        INTEGER,
    why          TEXT,
    status       TEXT NOT NULL,
    exec_time    INTEGER NOT NULL DEFAULT 0,
    memory       INTEGER NOT NULL DEFAULT 0,
    changed      INTEGER NOT NULL DEFAULT 0,
    analysis     TEXT,
    detail       TEXT,
    UNIQUE (interpreter, number)
);
CREATE INDEX executions_of_run ON executions (run, revision);
CREATE INDEX executions_running ON executions (interpreter) WHERE status = 'running';
CREATE INDEX trials ON executions (experiment, trial) WHERE experiment IS NOT NULL;
-- The trials that say which direction their experiment has.
CREATE INDEX directions ON executions (experiment, maximize, trial)
    WHERE maximize IS NOT NULL AND (status = 'running' OR metric IS NOT NULL);

-- The details that versions before 3 stored.
CREATE TABLE details (
    execution INTEGER PRIMARY KEY,
    detail    TEXT NOT NULL
);

-- What interpreters do now, by the word of their server.
CREATE TABLE pulses (
    interpreter TEXT PRIMARY KEY,
    run         TEXT NOT NULL,
    at          INTEGER NOT NULL,
    client      TEXT NOT NULL,
    memory      INTEGER NOT NULL,
    waiting     INTEGER NOT NULL,
    execution   INTEGER NOT NULL,
    code        TEXT NOT NULL,
    started     INTEGER NOT NULL,
    time_limit  INTEGER NOT NULL,
    tail        TEXT NOT NULL,
    position    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX pulses_of_run ON pulses (run, position);
