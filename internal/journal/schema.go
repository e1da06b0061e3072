package journal

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

var (
	//go:embed schema/1.sql
	schema1 string
	//go:embed schema/2.sql
	schema2 string
)

// migrations bring a file from one version of the schema to the next: the first
// makes version 1 of an empty file. A version that was released is never changed.
var migrations = []string{schema1, schema2}

// applicationID is in the header of each journal, so that no other program's
// database is taken for one: "undy".
const applicationID = 0x756e6479

// NewerError says that a journal was written by a newer program.
type NewerError struct{ Path string }

func (e *NewerError) Error() string {
	return fmt.Sprintf("the journal %s was written by a newer version of understudy; update this one, or choose another file with --journal", e.Path)
}

// querier is what a connection and a database have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns which version of the schema a file has, 0 for an empty one.
// It refuses what is no journal, and what is newer than this program.
func schemaVersion(ctx context.Context, db querier, path string) (int, error) {
	var version, application, tables int
	err := db.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`).Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return 0, err
	case application != applicationID && (version != 0 || tables > 0):
		return 0, fmt.Errorf("%s is a database of another program; choose another file with --journal", path)
	case version > len(migrations):
		return 0, &NewerError{Path: path}
	}
	return version, nil
}

// migrate brings the file to the newest version, each step in a transaction. Of
// several servers that start at once one does it, and the others wait.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	for {
		version, err := schemaVersion(ctx, conn, path)
		if err != nil || version == len(migrations) {
			return err
		}
		if err := migrateOnce(ctx, conn, path); err != nil {
			return fmt.Errorf("bringing the journal %s to version %d: %w", path, version+1, err)
		}
	}
}

// migrateOnce makes one step, by what the version is once the file is ours.
func migrateOnce(ctx context.Context, conn *sql.Conn, path string) error {
	return transact(ctx, conn, func() error {
		version, err := schemaVersion(ctx, conn, path)
		if err != nil || version == len(migrations) {
			return err
		}
		if _, err := conn.ExecContext(ctx, migrations[version]); err != nil {
			return err
		}
		_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d", version+1, applicationID))
		return err
	})
}

// transact runs do in a transaction that may write.
func transact(ctx context.Context, conn *sql.Conn, do func() error) error {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	return finish(ctx, conn, do)
}

// finish runs do in a transaction that has begun, and ends that.
func finish(ctx context.Context, conn *sql.Conn, do func() error) error {
	err := do()
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil { // SQLite may have undone it of its own accord, as on a full disk
		_, _ = conn.ExecContext(ctx, "ROLLBACK")
	}
	return err
}
