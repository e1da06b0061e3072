package journal

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"understudy/sessions"
)

// toolUses returns calls of other servers' tools without secrets.
func (m *masker) toolUses(uses []sessions.ToolUse) ([]sessions.ToolUse, error) {
	if m == nil {
		return uses, nil
	}
	clean := slices.Clone(uses)
	for i := range clean {
		u := &clean[i]
		u.Server, u.Tool, u.Message = m.text(u.Server), m.text(u.Tool), m.text(u.Message)
		var problems [2]error
		u.Arguments, problems[0] = m.json(u.Arguments, true)
		u.Result, problems[1] = m.json(u.Result, true)
		if err := errors.Join(problems[:]...); err != nil {
			return nil, err
		}
	}
	return clean, nil
}

// names masks what things are counted by, which code may have made up.
func (m *masker) names(counts map[string]int) map[string]int {
	clean := make(map[string]int, len(counts))
	for name, n := range counts {
		clean[m.text(name)] += n
	}
	return clean
}

// storeToolUses writes the calls of other servers' tools that an execution made.
func (t *tx) storeToolUses(execution int64, uses []sessions.ToolUse) {
	orNull := func(text json.RawMessage) any {
		if len(text) == 0 {
			return nil
		}
		return string(text)
	}
	for i, u := range uses {
		t.exec(`INSERT OR REPLACE INTO tool_calls (execution, ordinal, server, tool, status, started, took, bytes, message, arguments, result)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, execution, i+1, u.Server, u.Tool, u.Status, nanoseconds(u.Started),
			int64(u.Seconds*float64(time.Second)), u.Bytes, u.Message, orNull(u.Arguments), orNull(u.Result))
	}
}

// counted counts names that stand in lines, nil where there are none.
func counted(names string) map[string]int {
	if names == "" {
		return nil
	}
	counts := map[string]int{}
	for name := range strings.SplitSeq(names, "\n") {
		counts[name]++
	}
	return counts
}

// toolUses returns the calls of other servers' tools that an execution made.
func (r *Reader) toolUses(ctx context.Context, execution int64) ([]sessions.ToolUse, error) {
	return collect(ctx, r.db, func(rows *sql.Rows) (u sessions.ToolUse, err error) {
		var took time.Duration
		var arguments, result []byte
		err = rows.Scan(&u.Server, &u.Tool, &u.Status, (*stamp)(&u.Started), &took, &u.Bytes, &u.Message, &arguments, &result)
		u.Seconds, u.Arguments, u.Result = took.Seconds(), arguments, result
		return u, err
	}, `SELECT server, tool, status, started, took, bytes, message, arguments, result
		FROM tool_calls WHERE execution = ? ORDER BY ordinal`, execution)
}
