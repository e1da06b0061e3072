package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"syscall"

	"github.com/dustin/go-humanize"
)

// Limits bound what archives may unpack to. They are against bombs, not against
// large data: who meets one can unpack the archive and give the directory.
type Limits struct {
	// Unpacked is how many bytes all archives together may unpack to.
	Unpacked int64
	// Entries is how many files, directories and links they may hold together.
	Entries int
	// Ratio is how many times its own size an archive may unpack to, with the
	// archives in it, once that is more than RatioFrom bytes.
	Ratio     int64
	RatioFrom int64
	// Depth is how many archives deep is unpacked: 1 leaves archives in archives.
	Depth int
	// Reserve is how many bytes of the disk stay free.
	Reserve int64
}

// UsualLimits are those of a server. Text compresses to a tenth, tables of
// numbers that repeat to a fiftieth; what a bomb needs is a thousand and more.
var UsualLimits = Limits{
	Unpacked: 50e9, Entries: 1_000_000, Ratio: 200, RatioFrom: 100e6, Depth: 3, Reserve: 1e9,
}

// limitError says which limit was passed. It ends the preparation, unlike an archive in
// another that can't be read and stays as it is.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

func overLimit(format string, args ...any) error {
	return &limitError{fmt.Sprintf(format, args...) + "; if that is right, unpack it yourself and give its directory as data"}
}

// stops reports whether err ends the preparation although the archive it is about could
// stay as it is: a limit, a full disk, or who asked to stop.
func (p *preparation) stops(err error) bool {
	var limit *limitError
	return p.ctx.Err() != nil || errors.As(err, &limit) || errors.Is(err, context.Canceled) ||
		errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// meter counts what is written, in the whole preparation.
type meter struct {
	limits   Limits
	room     int64 // bytes that the disk has left for it
	unpacked int64
	entries  int
}

// entryBytes are those that an entry takes of the disk, beside its content.
const entryBytes = 4096

// wrote counts bytes that are about to be written.
func (m *meter) wrote(n int64) error {
	if m.room -= n; m.room < 0 {
		return &limitError{fmt.Sprintf("the disk is full but for the %s that stay free: make room, or choose another disk with --workspace", size(m.limits.Reserve))}
	}
	return nil
}

// outermost counts what one archive unpacks to, with those in it.
type outermost struct {
	*meter
	size int64 // bytes of the archive itself
	out  int64
}

// entry counts an entry.
func (o *outermost) entry() error {
	if o.entries++; o.entries > o.limits.Entries {
		return overLimit("the archives hold more than %s entries", humanize.Comma(int64(o.limits.Entries)))
	}
	return o.wrote(entryBytes)
}

// take counts bytes that are about to be written.
func (o *outermost) take(n int64) error {
	o.out += n
	if o.unpacked += n; o.unpacked > o.limits.Unpacked {
		return overLimit("the archives unpack to more than %s", size(o.limits.Unpacked))
	}
	if err := o.checkRatio(o.out); err != nil {
		return err
	}
	return o.wrote(n)
}

// checkRatio refuses an archive that makes too much of its bytes.
func (o *outermost) checkRatio(out int64) error {
	if out > o.limits.RatioFrom && out/o.limits.Ratio > o.size {
		return overLimit("the archive has %s and unpacks to more than %d times its size", size(o.size), o.limits.Ratio)
	}
	return nil
}

// metered has each part that is read counted before anybody gets it.
type metered struct {
	from  io.Reader
	count func(n int64) error
}

func (m *metered) Read(into []byte) (int, error) {
	n, err := m.from.Read(into)
	if over := m.count(int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

// freeRoom is how many bytes may be written below dir.
func freeRoom(dir string, reserve int64) int64 {
	free, err := freeBytes(dir)
	if err != nil {
		return math.MaxInt64 // unknown: the disk itself will say
	}
	return int64(min(free, math.MaxInt64)) - reserve
}

func size(bytes int64) string { return humanize.Bytes(uint64(max(0, bytes))) }
