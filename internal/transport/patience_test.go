package transport

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestAClientThatDoesNotReadKeepsNobody: neither the end of its input nor a
// signal may wait for ever for an answer to be taken.
func TestAClientThatDoesNotReadKeepsNobody(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in := &endingReader{in: strings.NewReader("the last line\n"), ended: make(chan struct{})}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			go func() { done <- outcome(ctx, make(chan error), in.ended, slog.New(slog.DiscardHandler)) }()
			time.Sleep(time.Hour)
			if len(done) > 0 {
				t.Fatal("gave up on a client that is there")
			}
			began := time.Now()
			if leaves {
				_, _ = io.Copy(io.Discard, in)
			} else {
				stop()
			}
			if err := <-done; err != nil || time.Since(began) != patience {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	}
}
