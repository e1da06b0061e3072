package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"understudy/sessions"
)

const (
	// longestWait is how large a file may be, in bytes, that is copied or searched for
	// secrets while a call waits.
	longestWait = 1 << 20
	// mostLater is how many files may wait at once to be kept; each is open.
	mostLater = 64
	// closingTime bounds how long the end of a run waits for them.
	closingTime = 3 * time.Second
)

// spooled is an output in a file that is to be kept. The file is open: its session may
// remove it.
type spooled struct {
	file     *os.File
	from, to string
	stream   sessions.Stream
	mask     *masker
	cut      bool  // the end is missing
	id       int64 // of the execution
}

// keep makes the file that is kept, by a link where it holds no secret. It appears
// under its name when it is whole.
func (s *spooled) keep(ctx context.Context) error {
	unfinished := s.to + ".part"
	_ = os.Remove(unfinished)
	found := false
	if s.mask != nil {
		var err error
		if found, err = s.mask.pass(ctx, nil, s.file, s.cut); err != nil {
			return err
		}
	}
	if found || !s.link(unfinished) {
		if err := s.copy(ctx, unfinished); err != nil {
			_ = os.Remove(unfinished)
			return err
		}
	}
	return os.Rename(unfinished, s.to)
}

// link reports whether to is the file now.
func (s *spooled) link(to string) bool {
	info, err := s.file.Stat()
	if err != nil || os.Link(s.from, to) != nil {
		return false
	}
	linked, err := os.Lstat(to)
	if err == nil && os.SameFile(info, linked) {
		return true
	}
	_ = os.Remove(to) // another file has its name
	return false
}

func (s *spooled) copy(ctx context.Context, to string) (err error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if s.mask != nil {
		_, err = s.mask.pass(ctx, out, s.file, s.cut)
		return err
	}
	_, err = io.Copy(out, untilDone{ctx, s.file})
	return err
}

// untilDone reads until a context is done.
type untilDone struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one copy
	from io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.from.Read(p)
}

// later keeps files beside the calls, one after the other.
type later struct {
	journal *Journal
	life    context.Context
	end     context.CancelFunc
	working sync.WaitGroup

	mu     sync.Mutex
	places int // that are taken
	queue  chan *spooled
	closed bool
}

func (l *later) start(j *Journal) {
	l.journal, l.queue = j, make(chan *spooled, mostLater)
	l.life, l.end = context.WithCancel(context.Background())
	l.working.Go(func() {
		for s := range l.queue {
			l.settle(s, s.keep(l.life))
		}
	})
}

// reserve reports whether there is room for another file.
func (l *later) reserve() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.places == mostLater {
		return false
	}
	l.places++
	return true
}

// add has a file kept for which a place was reserved. It never waits.
func (l *later) add(s *spooled) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.queue <- s
		return
	}
	_ = s.file.Close() // it was only read
}

// drop gives a place back: the execution is not recorded.
func (l *later) drop(s *spooled) {
	_ = s.file.Close() // it was only read
	l.mu.Lock()
	l.places--
	l.mu.Unlock()
}

// settle stores what has become of a file.
func (l *later) settle(s *spooled, failure error) {
	l.drop(s)
	j := l.journal
	if failure != nil {
		j.log.Warn("keeping an output for the journal", "file", s.to, "error", failure)
	}
	if err := j.write(func() error { return j.settleOutput(s, failure) }); err != nil {
		j.log.Warn("recording that an output is kept", "file", s.to, "error", err)
	}
}

// stop waits a moment for what is left, and ends it.
func (l *later) stop() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	timer := time.AfterFunc(closingTime, l.end)
	l.working.Wait()
	timer.Stop()
	l.end()
}

// settleOutput notes in an execution's detail that an output is kept, or is not.
func (j *Journal) settleOutput(s *spooled, failure error) error {
	var text string
	if found, err := j.get("SELECT detail FROM details WHERE execution = ?", []any{s.id}, &text); err != nil || !found {
		return err
	}
	var d Detail
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return fmt.Errorf("a detail: %w", err)
	}
	o := d.output(s.stream)
	if filepath.Base(o.Path) != filepath.Base(s.to) || !o.Pending {
		return nil // of an execution that did not count
	}
	if o.Pending = false; failure != nil {
		o.lose()
	}
	changed, err := json.Marshal(d)
	if err != nil {
		return err
	}
	revision, err := j.nextRevision()
	if err != nil {
		return err
	}
	return errors.Join(
		j.exec("UPDATE details SET detail = ? WHERE execution = ?", string(changed), s.id),
		j.exec("UPDATE executions SET revision = ? WHERE id = ?", revision, s.id))
}

func (d *Detail) output(stream sessions.Stream) *Output {
	if stream == sessions.Stderr {
		return &d.Stderr
	}
	return &d.Stdout
}

// lose says that there is no file, and will be none.
func (o *Output) lose() {
	o.Lost += max(0, o.Size-int64(len(o.Text)))
	o.Path, o.Pending = "", false
}
