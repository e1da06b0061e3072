-- A commit changed twice as many pages. Tables stay, as servers of before may still write.
ALTER TABLE executions ADD COLUMN detail TEXT;
DROP INDEX executions_by_revision;
DROP INDEX executions_of_run;
CREATE INDEX executions_of_run ON executions (run, revision);
