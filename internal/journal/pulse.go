package journal

import (
	"context"
	"fmt"
	"time"

	"understudy/sessions"
)

// Pulse stores what the interpreters do now, in place of what was stored before. Who
// watches sees it; it is called within a second of what is new, every ten seconds while
// something runs, and once when nothing runs any more.
func (j *Journal) Pulse(_ context.Context, pulses []sessions.Pulse) error {
	masks := make([]*masker, len(pulses))
	for i := range pulses {
		masks[i] = j.maskFor(pulses[i].Secrets)
	}
	now := time.Now().UnixNano()
	err := j.write(func() error {
		if err := j.exec("DELETE FROM pulses WHERE run = ?", j.run); err != nil {
			return err
		}
		for i, p := range pulses {
			if err := j.exec(`INSERT INTO pulses (interpreter, run, at, client, memory, waiting, execution, code, started, time_limit, tail, position)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (interpreter) DO NOTHING`,
				p.InterpreterID, j.run, now, string(p.Client), int64(p.Memory), p.Waiting, p.Execution, masks[i].text(p.Code),
				nanoseconds(p.Started), int64(p.Limit), masks[i].text(p.Tail), i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing what runs: %w", err)
	}
	return nil
}
