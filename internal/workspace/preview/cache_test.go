package preview

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestCache: within ten seconds nothing is looked at, and after them only what is
// another tree is described anew.
func TestCache(t *testing.T) {
	dir := put(t, map[string]string{"a.csv": "a,b\n1,2\n"})
	c := NewCache(dir, Options{Time: time.Minute})
	now := time.Unix(1_700_000_000, 0)
	c.now = func() time.Time { return now }
	text := func(want string) {
		t.Helper()
		got, err := c.Text(t.Context())
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
	text("1 row ×")
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("a,b\n1,2\n3,4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text("1 row ×")
	now = now.Add(fresh)
	text("2 rows ×")
	c.text = "kept"
	now = now.Add(fresh)
	text("kept")
	if err := os.Chtimes(filepath.Join(dir, "a.csv"), now, now); err != nil {
		t.Fatal(err)
	}
	now = now.Add(fresh)
	text("2 rows ×")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	now = now.Add(fresh)
	if got, err := c.Text(t.Context()); err == nil {
		t.Error(got)
	}
}

// TestCacheGivesUp: who waits for another one's look does so no longer than it wants.
func TestCacheGivesUp(t *testing.T) {
	c := NewCache(t.TempDir(), Options{})
	<-c.turn
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Text(ctx); err == nil {
		t.Error("it did not wait")
	}
}
