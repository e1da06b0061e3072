-- What an experiment is about, and how it searches; an analysis is of a trial.
ALTER TABLE runs ADD COLUMN task TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN drafts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN debug_depth INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN debug_prob REAL NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN analysis TEXT;
