package resources

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }

// expect says what there is instead where a test does not find what it expects.
func expect(t *testing.T, found bool, instead string, args ...any) {
	t.Helper()
	if !found {
		t.Errorf(instead, args...)
	}
}

func same(t *testing.T, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, options...); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
