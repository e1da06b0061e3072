//go:build !linux

package limits

// Limits are kept on Linux only.
type (
	// A Worker is not asked anything.
	Worker any
	// Bounds of a line are none.
	Bounds struct{}
	// Limiter has nothing to do.
	Limiter struct{}
)

// New returns none.
func New(Options) *Limiter { return nil }

// Begin does nothing.
func (*Limiter) Begin() {}

// Close does nothing.
func (*Limiter) Close() {}

// Bind binds nothing.
func (*Limiter) Bind(int) *Bounds { return nil }

// LetRun has nothing to say of a run.
func (*Limiter) LetRun(Worker, *Bounds) func(Outcome) []string {
	return func(Outcome) []string { return nil }
}

// Verdict is never known.
func (*Bounds) Verdict() string { return "" }

// Release does nothing.
func (*Bounds) Release() {}
