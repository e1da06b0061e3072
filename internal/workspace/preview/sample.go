package preview

import (
	"bufio"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	headBytes  = 1 << 20   // of a large file's beginning
	blockBytes = 128 << 10 // of each other block
	blocks     = 24        // how many of them
)

// sample is what was read of a text, as UTF-8. The first block is the file's
// beginning; whether the others begin within a line is for who reads them.
type sample struct {
	blocks [][]byte
	// whole says that the one block is all there is.
	whole bool
	// size is how many bytes the text has as it is stored, uncompressed. It is an
	// estimate for what is compressed and not whole.
	size float64
	// wide is how many stored bytes stand for a byte of UTF-8, on average.
	wide     float64
	encoding string // empty for UTF-8
}

// takeSample reads a small file whole, and of a large one its beginning and blocks
// at even distances.
func takeSample(s *source, e *entry) (*sample, error) {
	var raw [][]byte
	t := &sample{}
	var err error
	switch end := strings.ToLower(e.name); {
	case strings.HasSuffix(end, ".gz") || strings.HasSuffix(end, ".bz2"):
		raw, err = t.unpack(s, strings.HasSuffix(end, ".gz"))
	case s.size() <= min(s.left, s.budget.left):
		t.whole, t.size = true, float64(s.size())
		var all []byte
		all, err = s.block(0, s.size())
		raw = [][]byte{all}
	default:
		t.size = float64(s.size())
		raw, err = blocksOf(s)
	}
	if err != nil {
		return nil, err
	}
	t.decode(raw)
	if len(t.blocks[0]) == 0 {
		return nil, errors.New("empty")
	}
	return t, nil
}

// blocksOf reads parts of a large file, as many as the budget has room for.
func blocksOf(s *source) ([][]byte, error) {
	head, err := s.block(0, min(headBytes, s.left, s.budget.left)&^3)
	if err != nil {
		return nil, err
	}
	all := [][]byte{head}
	room := min(s.left, s.budget.left)
	n := min(blocks, room/blockBytes, (s.size()-int64(len(head)))/blockBytes)
	for i := range n {
		// The last one ends with the file. Offsets are multiples of 4, so that no
		// unit of UTF-16 is cut.
		first, last := int64(len(head)), s.size()-blockBytes
		offset := last
		if n > 1 {
			offset = first + (last-first)/(n-1)*i
		}
		block, err := s.block(offset&^3, blockBytes)
		if err != nil {
			return nil, err
		}
		all = append(all, block)
	}
	return all, nil
}

// unpack reads the beginning of what is compressed: as much as an uncompressed file
// may have.
func (t *sample) unpack(s *source, gz bool) ([][]byte, error) {
	packed := &counting{r: io.NewSectionReader(s, 0, s.size())}
	buffered := bufio.NewReaderSize(packed, 64<<10)
	plain := bzip2.NewReader(buffered)
	if gz {
		reader, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, fmt.Errorf("can't be unpacked: %w", err)
		}
		plain = reader
	}
	most := min(s.each, headBytes*4)
	head, err := io.ReadAll(&patient{io.LimitReader(plain, most+1), s.budget})
	if err != nil && (len(head) == 0 || errors.Is(err, errTime)) {
		if errors.Is(err, errTime) || errors.Is(err, errSpent) {
			return nil, err
		}
		return nil, fmt.Errorf("can't be unpacked: %w", err)
	}
	t.whole, t.size = err == nil && int64(len(head)) <= most, float64(len(head))
	if !t.whole {
		head = head[:min(int64(len(head)), most)]
		consumed := packed.n - int64(buffered.Buffered())
		t.size = float64(len(head)) * float64(s.size()) / float64(max(1, consumed))
	}
	return [][]byte{head}, nil
}

// counting counts what is read.
type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// patient stops reading when the time is up.
type patient struct {
	r io.Reader
	*budget
}

func (p *patient) Read(b []byte) (int, error) {
	if p.ctx.Err() != nil {
		return 0, errTime
	}
	return p.r.Read(b)
}
