package journal

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
)

var (
	//go:embed schema/schema.sql
	newest string
	//go:embed schema/from1.sql
	from1 string
	//go:embed schema/from2.sql
	from2 string
	//go:embed schema/from3.sql
	from3 string
)

// migrations bring a file from one version of the schema to another; an empty one has
// version 0. A version that was released is never changed.
var migrations = []struct {
	statements string
	to         int
}{{newest, present}, {from1, 2}, {from2, 3}, {from3, 4}}

// present is the version that servers write and readers read.
var present = 4

// applicationID is in the header of each journal, so that no other program's
// database is taken for one: "undy".
const applicationID = 0x756e6479

// querier is what a connection and a database have in common.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns which version of the schema a file has, 0 for an empty one.
// It refuses what is no journal, and what is newer than this program.
func schemaVersion(ctx context.Context, db querier, path string) (int, error) {
	var version, application, tables int
	err := db.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_user_version, pragma_application_id`).Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return 0, err
	case application != applicationID && (version != 0 || tables > 0):
		return 0, fmt.Errorf("%s is a database of another program; choose another file with --journal", path)
	case version > present:
		return 0, fmt.Errorf("the journal %s was written by a newer version of understudy; "+
			"update this one, or choose another file with --journal", path)
	}
	return version, nil
}

// migrate brings the file to the present version, each step in a transaction. Of
// several servers that start at once one does it, and the others wait.
func migrate(ctx context.Context, conn *sql.Conn, path string) error {
	for {
		version, err := schemaVersion(ctx, conn, path)
		if err != nil || version == present {
			return err
		}
		if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
			return err
		}
		err = finish(ctx, conn, func() error { // by what the version is once the file is ours
			if version, err = schemaVersion(ctx, conn, path); err != nil || version == present {
				return err
			}
			step := migrations[version]
			_, err := conn.ExecContext(ctx, fmt.Sprintf("%s; PRAGMA user_version = %d; PRAGMA application_id = %d",
				step.statements, step.to, applicationID))
			return err
		})
		if err != nil {
			return fmt.Errorf("bringing the journal %s from version %d to %d: %w", path, version, present, err)
		}
	}
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
