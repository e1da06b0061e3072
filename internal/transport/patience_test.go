package transport

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestAClientThatDoesNotReadKeepsNobody: neither the end of its input nor a
// signal may wait for ever for an answer to be taken.
func TestAClientThatDoesNotReadKeepsNobody(t *testing.T) {
	for _, leaves := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			in, client := io.Pipe()
			full := fullPipe(make(chan struct{}))
			defer close(full)
			defer client.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			done := make(chan error, 1)
			go func() {
				done <- ServeStdio(ctx, newTools().server(), in, full, slog.New(slog.DiscardHandler))
			}()
			if _, err := io.WriteString(client, pinging); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Hour)
			if len(done) > 0 {
				t.Fatal("gave up on a client that is there")
			}
			began := time.Now()
			if leaves {
				_ = client.Close()
			} else {
				stop()
			}
			if err := <-done; err != nil || time.Since(began) != patience {
				t.Errorf("%v after %s", err, time.Since(began))
			}
		})
	}
}

const pinging = `{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"

// fullPipe takes nothing until it is closed.
type fullPipe chan struct{}

func (p fullPipe) Write([]byte) (int, error) {
	<-p
	return 0, io.ErrClosedPipe
}
