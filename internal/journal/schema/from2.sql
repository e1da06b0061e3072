-- A commit changed twice as many pages. Tables, and the index executions_by_revision, stay:
-- programs of before that have the file open go on writing and reading by them.
ALTER TABLE executions ADD COLUMN detail TEXT;
DROP INDEX executions_of_run;
CREATE INDEX executions_of_run ON executions (run, revision);
