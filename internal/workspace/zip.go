package workspace

import (
	"archive/zip"
	"compress/bzip2"
	"errors"
	"io"
	"io/fs"
	"math"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

const (
	zipEncrypted = 1    // a bit of a header's flags
	zipBzip2     = 12   // a method that archive/zip doesn't know by itself
	linkLimit    = 4096 // bytes of a link's target
	// listRoom is what an entry may take there on average, with its name.
	listRoom = 128
)

// zip unpacks a zip file.
func (u *unpacking) zip() error {
	// The list of entries is read at once: without a limit a small program could
	// write one that takes all memory.
	u.file.budget = max(int64(u.meter.limits.Entries), 1000)*listRoom + 1<<20
	reader, err := zip.NewReader(u.file, u.size)
	u.file.budget = 0
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		return zipError(err)
	}
	reader.RegisterDecompressor(zipBzip2, func(r io.Reader) io.ReadCloser { return io.NopCloser(bzip2.NewReader(r)) })
	if err := u.checkList(reader.File); err != nil {
		return err
	}
	backslashes := separatedByBackslashes(reader.File)
	for _, entry := range reader.File {
		if err := errors.Join(u.ctx.Err(), u.meter.entry()); err != nil {
			return err
		}
		raw := zipName(entry)
		if backslashes {
			raw = strings.ReplaceAll(raw, `\`, "/")
		}
		if err := u.zipEntry(entry, raw); err != nil {
			return u.at(raw, zipError(err))
		}
	}
	return nil
}

// at says which entry an error is about.
func (u *unpacking) at(entry string, err error) error {
	return &archiveError{archive: u.archive, entry: entry, err: err}
}

// checkList refuses before anything is written what can't be unpacked for certain.
func (u *unpacking) checkList(entries []*zip.File) error {
	if u.meter.entries+len(entries) > u.meter.limits.Entries {
		return u.meter.tooMany()
	}
	var total uint64
	for _, entry := range entries {
		if entry.Flags&zipEncrypted != 0 {
			return u.at(zipName(entry), errors.New("it is protected with a password; unpack it yourself and give its directory as data"))
		}
		if total += entry.UncompressedSize64; total < entry.UncompressedSize64 {
			total = math.MaxInt64
		}
	}
	return u.meter.claim(min(total, math.MaxInt64))
}

func (u *unpacking) zipEntry(entry *zip.File, raw string) error {
	name, err := entryName(raw)
	if err != nil || hasLitter(name) {
		return err
	}
	mode := entry.Mode()
	switch {
	case strings.HasSuffix(raw, "/") || mode.IsDir():
		return u.directory(name)
	case name == ".":
		return errors.New("it has no name")
	case mode&fs.ModeSymlink != 0:
		return u.zipLink(entry, name)
	case !mode.IsRegular():
		u.note("%s: %q is %s and was left out", u.archive, clip(name), kindOf(mode))
		return nil
	}
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it is only read
	return u.put(name, mode, entry.Modified, content)
}

// zipLink remembers a link, whose target is its content.
func (u *unpacking) zipLink(entry *zip.File, name string) error {
	content, err := entry.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // it is only read
	target, err := io.ReadAll(io.LimitReader(content, linkLimit+1))
	if err != nil {
		return err
	}
	return u.addLink(name, string(target))
}

// zipName is the name of an entry. Those that are marked as no UTF-8, and aren't,
// are in the code page that the format began with.
func zipName(entry *zip.File) string {
	if utf8.ValidString(entry.Name) {
		return entry.Name
	}
	decoded, err := charmap.CodePage437.NewDecoder().String(entry.Name)
	if err != nil {
		return strings.ToValidUTF8(entry.Name, "_")
	}
	return decoded
}

// separatedByBackslashes reports whether the archive is one of those old programs
// that write backslashes where the format wants slashes.
func separatedByBackslashes(entries []*zip.File) bool {
	some := false
	for _, entry := range entries {
		if strings.Contains(entry.Name, "/") {
			return false
		}
		some = some || strings.Contains(entry.Name, `\`)
	}
	return some
}

// zipError says in words what archive/zip found.
func zipError(err error) error {
	switch {
	case errors.Is(err, errBudget):
		return overLimit("%v", errBudget)
	case errors.Is(err, zip.ErrFormat):
		return errors.New("it is no zip file, or it is damaged")
	case errors.Is(err, zip.ErrAlgorithm):
		return errors.New("it is compressed in a way that can't be read here; unpack it yourself and give its directory as data")
	case errors.Is(err, zip.ErrChecksum):
		return errors.New("its checksum is wrong: the archive is damaged")
	}
	return plain(err)
}
