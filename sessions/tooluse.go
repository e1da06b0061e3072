package sessions

import (
	"fmt"
	"time"

	"understudy/internal/phrase"
)

// ToolOK is the Status of a ToolUse that gave a result.
const ToolOK = "ok"

// Outcome says in some words what a call came to, as "12 KB in 0.4 s" or "denied in 3 ms: …".
func (u ToolUse) Outcome() string {
	took := phrase.Short(time.Duration(u.Seconds * float64(time.Second)))
	if u.Status == ToolOK {
		return fmt.Sprintf("%s in %s", phrase.Size(int64(u.Bytes)), took)
	}
	return fmt.Sprintf("%s in %s: %s", u.Status, took, u.Message)
}
