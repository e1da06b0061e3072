package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"understudy/internal/check"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must, expect = check.Must, check.Expect

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }

func same(t *testing.T, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
