package transport

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if addr := os.Getenv(actAsClient); addr != "" {
		beClient(addr)
	}
	goleak.VerifyTestMain(m)
}

func TestServingEnds(t *testing.T) {
	for name, end := range map[string]func(in *io.PipeWriter, cancel context.CancelFunc){
		"when the client leaves":     func(in *io.PipeWriter, _ context.CancelFunc) { _ = in.Close() },
		"when it is asked to":        func(_ *io.PipeWriter, cancel context.CancelFunc) { cancel() },
		"when nobody reads any more": func(in *io.PipeWriter, _ context.CancelFunc) { _, _ = io.WriteString(in, "nonsense\n") },
	} {
		t.Run(name, func(t *testing.T) {
			tl := newTools()
			reader, writer := io.Pipe()
			defer reader.Close() // lets the library's last read go
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			served := make(chan error, 1)
			go func() {
				served <- ServeStdio(ctx, tl.server(), reader, brokenWriter{}, slog.New(slog.DiscardHandler))
			}()
			_, err := io.WriteString(writer, calling(1, "wait", "")+"\n")
			must(t, err)
			end(writer, cancel)
			if err := <-served; err != nil {
				t.Errorf("serving ended with %v", err)
			}
			if len(tl.began) != len(tl.ended) { // it may have been cancelled before it began
				t.Error("the call goes on")
			}
		})
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestLinesOfAnyLength(t *testing.T) {
	const limit = 20
	long := strings.Repeat("x", limit+1)
	for _, test := range []struct {
		in   string
		want []string // "" is a line that is too long
	}{
		{"", nil},
		{"abc\r\nde", []string{"abc", "de"}},
		{long + "\nabc\n" + long[:limit] + "\r\n", []string{"", "abc", long[:limit]}},
		{long + long + "\n" + long, []string{""}}, // the last line has no end, so it can't be whole
	} {
		for step := 1; step <= len(test.in)+1; step++ {
			r := bufio.NewReaderSize(stepReader{strings.NewReader(test.in), step}, 16)
			var got []string
			for {
				line, err := readLine(r, limit)
				if len(line) > 0 || errors.Is(err, errLongLine) {
					got = append(got, string(line))
				}
				if errors.Is(err, io.EOF) {
					break
				}
			}
			expect(t, slices.Equal(got, test.want), "%q in steps of %d: %q", test.in, step, got)
		}
	}
}

// stepReader reads at most so many bytes at a time.
type stepReader struct {
	in   io.Reader
	step int
}

func (r stepReader) Read(p []byte) (int, error) { return r.in.Read(p[:min(len(p), r.step)]) }

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
			_, err := io.WriteString(client, pinging)
			must(t, err)
			time.Sleep(time.Hour)
			insist(t, len(done) == 0, "gave up on a client that is there")
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
