// Package check holds what the tests of every package say in one line. A package's tests have
// them by their own names: var must, expect, insist = check.Must, check.Expect, check.Insist.
package check

import "testing"

// Must ends a test by an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Expect says what there is instead of what is so.
func Expect(t testing.TB, so bool, instead string, args ...any) {
	t.Helper()
	if !so {
		t.Errorf(instead, args...)
	}
}

// Insist says so too, and ends the test.
func Insist(t testing.TB, so bool, instead string, args ...any) {
	t.Helper()
	if !so {
		t.Fatalf(instead, args...)
	}
}
