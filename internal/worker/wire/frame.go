package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"understudy/sessions/output"
)

// An Error says that the peer broke the protocol. It ends the worker,
// never the server.
type Error struct {
	// word is the kind of break, as the recorded conversations name it.
	word string
	// What says it in a sentence.
	What string
}

func (e *Error) Error() string { return e.What }

// Errorf returns an Error of a kind.
func Errorf(word, format string, args ...any) error {
	return &Error{word, fmt.Sprintf(format, args...)}
}

// A Frame is one message as it travels.
type Frame struct {
	Kind        string
	header      []byte // the JSON object, "type" and "attachments" included
	attachments [][]byte
}

// Decode fills message from the frame's header. Unknown fields are ignored.
func (f Frame) Decode(message any) error {
	if err := unmarshal(f.header, message); err != nil {
		return Errorf("fields", "the header of a %q frame has a wrong form: %v", f.Kind, err)
	}
	return nil
}

// parsing has one header that is not small parsed at a time, for all workers together. A
// flood of them would else hold every processor, and the other sessions' calls, which pass
// through many goroutines, would wait behind it at each of them.
var parsing sync.Mutex

// smallHeader is how many bytes of a header are parsed in some 0.2 ms.
const smallHeader = 16 << 10

func unmarshal(header []byte, message any) error {
	if len(header) > smallHeader {
		parsing.Lock()
		defer parsing.Unlock()
	}
	return json.Unmarshal(header, message)
}

// few is a list that is short, unless the user's code has forged it: millions of empty
// elements fit a frame, and each takes many times as much memory.
type few[T any] []T

// maxFew is how many elements it may have.
const maxFew = 10_000

func (f *few[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if token, err := d.Token(); err != nil || token != json.Delim('[') {
		return json.Unmarshal(data, (*[]T)(f))
	}
	for *f = nil; d.More(); {
		if len(*f) == maxFew {
			return fmt.Errorf("a list has more than %d elements", maxFew)
		}
		var element T
		if err := d.Decode(&element); err != nil {
			return err
		}
		*f = append(*f, element)
	}
	return nil
}

// Encode returns the bytes of a frame without attachments; a worker gets none.
func Encode(kind string, message any) ([]byte, error) {
	return EncodeWith(kind, message, 0)
}

// EncodeWith is Encode for a frame that descriptors come with.
func EncodeWith(kind string, message any, descriptors int) ([]byte, error) {
	fields, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	head := `{"type":"` + kind + `"`
	if descriptors > 0 {
		head += `,"descriptors":` + strconv.Itoa(descriptors)
	}
	if len(fields) > len("{}") {
		head += ","
	}
	size := len(head) + len(fields) - 1
	if size > MaxHeader {
		return nil, Errorf("header", "a frame's header would have %d bytes; at most %d are allowed", size, MaxHeader)
	}
	data := make([]byte, 0, 4+size)
	data = binary.BigEndian.AppendUint32(data, uint32(size))
	data = append(data, head...)
	return append(data, fields[1:]...), nil
}

// WriteFrame writes a frame to somebody who is no worker, with attachments whose sizes the
// message lists.
func WriteFrame(w io.Writer, kind string, message any, attachments [][]byte) error {
	head, err := Encode(kind, message)
	if err != nil {
		return err
	}
	pieces := append(net.Buffers{head}, attachments...)
	_, err = pieces.WriteTo(w)
	return err
}

// Read reads one frame. io.EOF means that the peer has closed the stream
// between two frames.
func Read(r io.Reader) (Frame, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(length[:])
	if size == 0 || size > maxReport {
		return Frame{}, Errorf("header", "a frame announces a header of %d bytes; 1 to %d are allowed", size, maxReport)
	}
	header, err := readExactly(r, int(size))
	if err != nil {
		return Frame{}, err
	}
	kind, sizes, err := parseHeader(header)
	if err != nil {
		return Frame{}, err
	}
	f := Frame{Kind: kind, header: header}
	for _, size := range sizes {
		data, err := readAttachment(r, size)
		if err != nil {
			return Frame{}, err
		}
		f.attachments = append(f.attachments, data)
	}
	return f, nil
}

// parseHeader returns what a frame's header says about the frame itself.
func parseHeader(header []byte) (kind string, sizes []int, err error) {
	if !utf8.Valid(header) {
		return "", nil, Errorf("json", "a frame's header is not UTF-8")
	}
	var fields struct {
		Type        string `json:"type"`
		Attachments []int  `json:"attachments"`
	}
	err = unmarshal(header, &fields)
	var wrong *json.UnmarshalTypeError // of the first field that has another form
	errors.As(err, &wrong)
	switch {
	case err != nil && wrong == nil:
		return "", nil, Errorf("json", "a frame's header is not JSON: %v", err)
	case bytes.TrimLeft(header, " \t\r\n")[0] != '{':
		return "", nil, Errorf("object", "a frame's header is not a JSON object")
	case fields.Type == "" || wrong != nil && wrong.Field == "type":
		return "", nil, Errorf("type", "a frame's header has no type")
	case !knownTypes[fields.Type]:
		return "", nil, Errorf("unknown", "a frame has the unknown type %q", fields.Type)
	case mentions[fields.Type] && len(header) > maxMention:
		return "", nil, Errorf("header", "a %s frame has a header of %d bytes; at most %d are allowed", fields.Type, len(header), maxMention)
	case wrong != nil:
		return "", nil, Errorf("attachments", "a frame's attachments are no list of sizes")
	}
	return fields.Type, fields.Attachments, checkSizes(fields.Attachments)
}

func checkSizes(sizes []int) error {
	if len(sizes) > maxAttachments {
		return Errorf("attachments", "a frame announces %d attachments; at most %d are allowed", len(sizes), maxAttachments)
	}
	total := 0
	for _, size := range sizes {
		if size < 0 || size > maxAttached-total {
			return Errorf("attachments", "a frame announces an attachment of %d bytes; at most %d are allowed in all", size, maxAttached)
		}
		total += size
	}
	return nil
}

// trustedSize is how many bytes are reserved on a peer's word alone; the rest of more
// when so many have arrived.
const trustedSize = 1 << 20

// maxReading is how many bytes of attachments that are larger than that are read at once,
// from all workers. More are dropped as they come: a figure has its file.
const maxReading = 32 << 20

var reading atomic.Int64

// readAttachment returns nil for one that there is no room for.
func readAttachment(r io.Reader, size int) ([]byte, error) {
	if size <= trustedSize {
		return readExactly(r, size)
	}
	defer reading.Add(-int64(size))
	if reading.Add(int64(size)) > maxReading || size > output.MaxImages {
		_, err := io.CopyN(io.Discard, r, int64(size))
		return nil, unexpected(err)
	}
	return readExactly(r, size)
}

func readExactly(r io.Reader, size int) ([]byte, error) {
	if size <= trustedSize {
		data := make([]byte, size)
		_, err := io.ReadFull(r, data)
		return data, unexpected(err)
	}
	first := make([]byte, trustedSize)
	if _, err := io.ReadFull(r, first); err != nil {
		return nil, unexpected(err)
	}
	data := make([]byte, size)
	_, err := io.ReadFull(r, data[copy(data, first):])
	return data, unexpected(err)
}

// unexpected turns the end of the stream inside a frame into an error of its own.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
