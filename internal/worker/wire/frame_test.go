package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/check"
	"understudy/sessions"
)

var expect, insist = check.Expect, check.Insist

// rawFrame builds a frame as a worker would send it.
func rawFrame(header string, attachments ...string) []byte {
	data := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	return append(data, header+strings.Join(attachments, "")...)
}

func TestReadFrameWithAttachments(t *testing.T) {
	t.Parallel()
	data := rawFrame(`{"type":"figure","attachments":[3,0,2]}`, "abc", "", "de")
	data = append(data, rawFrame(`{"type":"done"}`)...)
	r := iotest.OneByteReader(bytes.NewReader(data))
	f, err := Read(r)
	insist(t, err == nil, "%v", err)
	want := [][]byte{[]byte("abc"), {}, []byte("de")}
	expect(t, f.Kind == TypeFigure && cmp.Equal(f.attachments, want), "got %s with %q, want figure with %q", f.Kind, f.attachments, want)
	if f, err = Read(r); err != nil || f.Kind != TypeDone {
		t.Errorf("second frame: %s, %v", f.Kind, err)
	}
	if _, err = Read(r); err != io.EOF {
		t.Errorf("between frames the end is %v, want io.EOF", err)
	}
}

func TestReadFrameOfMoreThanIsTrusted(t *testing.T) {
	t.Parallel()
	big := bytes.Repeat([]byte{7}, 3*trustedSize)
	data := rawFrame(`{"type":"figure","attachments":[3145728]}`, string(big))
	f, err := Read(bytes.NewReader(data))
	expect(t, err == nil && bytes.Equal(f.attachments[0], big), "got %d bytes, %v", len(f.attachments), err)
	if _, err := Read(bytes.NewReader(data[:len(data)-1])); err != io.ErrUnexpectedEOF {
		t.Errorf("a cut attachment gives %v, want io.ErrUnexpectedEOF", err)
	}
}

// What is too much at once for all workers is dropped, and the stream goes on behind it.
func TestReadFrameWithoutRoom(t *testing.T) {
	reading.Add(maxReading)
	defer reading.Add(-maxReading)
	data := rawFrame(`{"type":"figure","attachments":[2097152,3]}`, string(make([]byte, 2<<20)), "abc")
	f, err := Read(bytes.NewReader(data))
	expect(t, err == nil && f.attachments[0] == nil && string(f.attachments[1]) == "abc", "%d attachments, %v", len(f.attachments), err)
	if _, err := Read(bytes.NewReader(data[:2<<20])); err != io.ErrUnexpectedEOF {
		t.Errorf("a cut attachment gives %v", err)
	}
}

func TestEncodeFrameReadsBack(t *testing.T) {
	t.Parallel()
	sent := Run{Execution: 3, Kind: sessions.RunsCode, Arguments: json.RawMessage("{}"), Code: "print('\x00 ä \u2028')", ResultVarName: "x"}
	data, err := Encode(TypeRun, sent)
	insist(t, err == nil, "%v", err)
	f, err := Read(bytes.NewReader(data))
	insist(t, err == nil, "%v", err)
	var got Run
	if err := f.Decode(&got); err != nil || !cmp.Equal(got, sent) || f.Kind != TypeRun {
		t.Errorf("got %s %+v, %v", f.Kind, got, err)
	}
	if data, _ = Encode(typeStop, Empty{}); string(data[4:]) != `{"type":"stop"}` {
		t.Errorf("an empty message is %s", data[4:])
	}
}

func TestEncodeFrameRefusesTooMuch(t *testing.T) {
	t.Parallel()
	_, err := Encode(TypeRun, Run{Code: strings.Repeat("x", MaxHeader)})
	expect(t, wordOf(err) == "header", "got %v", err)
}

// wordOf returns the kind of break that err tells, as the archives name it.
func wordOf(err error) string {
	var protocol *Error
	switch {
	case errors.As(err, &protocol):
		return protocol.word
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "truncated"
	default:
		return ""
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(rawFrame(`{"type":"done","execution":1}`))
	f.Add(rawFrame(`{"type":"figure","attachments":[2,1]}`, "ab", "c"))
	f.Add(rawFrame(`{"type":"figure","attachments":[-1]}`))
	f.Add(rawFrame(`[]`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			frame, err := Read(r)
			if err != nil {
				expect(t, err == io.EOF || wordOf(err) != "", "an error of no known kind: %v", err)
				return
			}
			checkFrame(t, frame)
		}
	})
}

// checkFrame checks what must hold for every frame that was read.
func checkFrame(t *testing.T, f Frame) {
	t.Helper()
	expect(t, knownTypes[f.Kind] && json.Valid(f.header), "accepted type %q, header %q", f.Kind, f.header)
	var fields struct{ Attachments []int }
	if err := json.Unmarshal(f.header, &fields); err != nil {
		t.Fatal(err)
	}
	insist(t, len(fields.Attachments) == len(f.attachments), "%d attachments for sizes %v", len(f.attachments), fields.Attachments)
	for i, size := range fields.Attachments {
		if len(f.attachments[i]) != size {
			t.Errorf("attachment %d has %d bytes, announced were %d", i, len(f.attachments[i]), size)
		}
	}
	for _, message := range []any{&Ready{}, &Figure{}, &Artifact{}, &Done{}, &Variables{}, &Log{}} {
		if err := f.Decode(message); err != nil && wordOf(err) != "fields" {
			t.Errorf("decoding: %v", err)
		}
	}
}

// TestMutatedFrames breaks good frames in random places; the seed is fixed.
func TestMutatedFrames(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	good := rawFrame(`{"type":"figure","execution":1,"attachments":[4,2]}`, "abcd", "ef")
	for range 2_000 {
		data := bytes.Clone(good)
		for range 1 + random.IntN(3) {
			data[random.IntN(len(data))] = byte(random.IntN(256))
		}
		data = data[:random.IntN(len(data)+1)]
		f, err := Read(bytes.NewReader(data))
		if err == nil {
			checkFrame(t, f)
		} else if err != io.EOF && wordOf(err) == "" {
			t.Fatalf("%q: an error of no known kind: %v", data, err)
		}
	}
}

// A list that holds more than any worker sends ends the worker; what is no list is told.
func TestFew(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		header string
		ok     bool
	}{
		"notes":           {`{"notes":["a","b"],"exception":{"type":"E","stack":[["f",1,"g","h"]]}}`, true},
		"none":            {`{"notes":null,"exception":{"type":"E","stack":[]}}`, true},
		"as many":         {`{"notes":[` + strings.Repeat(`"",`, maxFew-1) + `""]}`, true},
		"too many":        {`{"notes":[` + strings.Repeat(`"",`, maxFew) + `""]}`, false},
		"too many names":  {`{"variables":{"added":[` + strings.Repeat(`"",`, maxFew) + `""]}}`, false},
		"too many frames": {`{"exception":{"type":"E","stack":[` + strings.Repeat(`["",0,"",""],`, maxFew) + `["",0,"",""]]}}`, false},
		"no list":         {`{"notes":"a"}`, false},
		"other elements":  {`{"notes":["a",{}]}`, false},
	} {
		var message Done
		err := Frame{Kind: TypeDone, header: []byte(test.header)}.Decode(&message)
		var protocol *Error
		expect(t, (err == nil) == test.ok && (err == nil || errors.As(err, &protocol)), "%s: %v", name, err)
		expect(t, name != "notes" || cmp.Equal(message.Notes, few[string]{"a", "b"}) && message.Exception.Stack[0].Function == "g", "%+v", message)
	}
}
