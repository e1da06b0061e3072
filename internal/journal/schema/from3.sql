-- The calls of other servers' tools that code made, so that what it ran can be run again.
-- server is before what may be long: to count calls reads no arguments and no results. Who
-- deletes an execution deletes its calls, also a program of before that has the file open.
CREATE TABLE tool_calls (
    execution INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    server    TEXT NOT NULL,
    tool      TEXT NOT NULL,
    status    TEXT NOT NULL,
    started   INTEGER NOT NULL,
    took      INTEGER NOT NULL,
    bytes     INTEGER NOT NULL,
    message   TEXT NOT NULL,
    arguments TEXT,
    result    TEXT,
    PRIMARY KEY (execution, ordinal)
) WITHOUT ROWID;
CREATE TRIGGER tool_calls_of_execution AFTER DELETE ON executions BEGIN
    DELETE FROM tool_calls WHERE execution = old.id;
END;
-- A JSON object: how many calls there were of each server's tools, so far.
ALTER TABLE pulses ADD COLUMN tool_calls TEXT NOT NULL DEFAULT '{}';
