package journal

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"understudy/sessions"
)

const (
	// longestWait is how large a file may be, in bytes, that is copied or searched for
	// secrets while a call waits.
	longestWait = 1 << 20
	// mostLater is how many files may wait at once to be kept; each is open.
	mostLater = 64
)

// closingTime bounds how long the end of a run waits for them.
const closingTime = 3 * time.Second

// kept is a file that is to be kept. It is open: its session may remove it.
type kept struct {
	file     *os.File
	size     int64
	from, to string
	mask     *masker
	cut      bool // the end is missing
	// of is the execution that printed it, and stream where; so many bytes are lost
	// without the file.
	of     sessions.StateRef
	stream sessions.Stream
	lost   int64
}

// link reports whether the name is the file now.
func (k *kept) link(name string) bool {
	info, err := k.file.Stat()
	if err != nil || os.Link(k.from, name) != nil {
		return false
	}
	linked, err := os.Lstat(name)
	if err == nil && os.SameFile(info, linked) {
		return true
	}
	_ = os.Remove(name) // another file has its name
	return false
}

// copy makes the file that is kept, without secrets. It appears under its name when it
// is whole.
func (k *kept) copy(ctx context.Context) error {
	unfinished := k.to + ".part"
	_ = os.Remove(unfinished)
	out, err := os.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if k.mask != nil {
		err = k.mask.pass(out, untilDone{ctx, k.file}, k.cut)
	} else {
		_, err = io.Copy(out, untilDone{ctx, k.file})
	}
	if err = errors.Join(err, out.Close()); err == nil {
		err = os.Rename(unfinished, k.to)
	}
	if err != nil {
		_ = os.Remove(unfinished)
	}
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

// keep has files of an execution copied that is stored.
func (j *Journal) keep(files []*kept) {
	for _, k := range files {
		select {
		case j.queue <- k:
		default:
			_ = k.file.Close() // it was only read
			j.noteKept(k, errors.New("too many long outputs are being kept"))
		}
	}
}

// keepQueued copies files beside the calls, one after the other. At the end it takes a
// moment for those that are left.
func (j *Journal) keepQueued() {
	copying, stop := context.WithCancel(context.Background())
	defer stop()
	defer context.AfterFunc(j.life, func() { time.AfterFunc(j.closing, stop) })()
	for {
		select {
		case k := <-j.queue:
			j.keepLater(copying, k)
			continue
		default:
		}
		select {
		case k := <-j.queue:
			j.keepLater(copying, k)
		case <-j.life.Done():
			return
		}
	}
}

// keepLater copies an output.
func (j *Journal) keepLater(ctx context.Context, k *kept) {
	failure := k.copy(ctx)
	_ = k.file.Close() // it was only read
	j.noteKept(k, failure)
}

// noteKept notes that an output's file is made, or that there will be none. Readers look
// themselves whether it is there; the revision tells those who poll to look again.
func (j *Journal) noteKept(k *kept, failure error) {
	query, args := "UPDATE executions SET revision = ?", []any{}
	if failure != nil {
		j.log.Warn("keeping an output for the journal", "file", k.to, "error", failure)
		query += ", detail = json_set(detail, ? || 'Path', '', ? || 'Pending', json('false'), ? || 'Lost', ?)"
		output := []string{sessions.Stdout: "$.Stdout.", sessions.Stderr: "$.Stderr."}[k.stream]
		args = []any{output, output, output, k.lost}
	}
	err := j.write(func(t *tx) {
		args := append(append([]any{j.nextRevision()}, args...), k.of.InterpreterID, k.of.Execution)
		t.exec(query+" WHERE interpreter = ? AND number = ?", args...)
	})
	if err != nil {
		j.log.Warn("recording that an output is kept", "file", k.to, "error", err)
	}
}
