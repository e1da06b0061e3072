package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// messages are the structs that each type of frame is read into, by sender.
var messages = map[string]func() any{
	"go-start":     func() any { return &Start{} },
	"go-run":       func() any { return &Run{} },
	"go-answer":    func() any { return &Answer{} },
	"go-variables": func() any { return &Empty{} },
	"go-stop":      func() any { return &Empty{} },
	"py-listener":  func() any { return &Listener{} },
	"py-ready":     func() any { return &Ready{} },
	"py-figure":    func() any { return &Figure{} },
	"py-artifact":  func() any { return &Artifact{} },
	"py-clear":     func() any { return &Clear{} },
	"py-ask":       func() any { return &Ask{} },
	"py-done":      func() any { return &Done{} },
	"py-variables": func() any { return &Variables{} },
	"py-log":       func() any { return &Log{} },
}

// TestRecordedConversations replays the archives that the Python half is tested
// with. Their format is described in hello.txtar.
func TestRecordedConversations(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("../../../pyworker/testdata/*.txtar")
	insist(t, err == nil && len(paths) != 0, "no recorded conversations: %v", err)
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		insist(t, err == nil, "%v", err)
		for _, file := range archive.Files {
			t.Run(filepath.Base(path)+"/"+file.Name, func(t *testing.T) {
				_, name, _ := strings.Cut(file.Name, "-")
				if word, isBroken := strings.CutPrefix(name, "bytes-"); isBroken {
					replayBroken(t, word, file.Data)
				} else {
					replayFrame(t, name, parseRecorded(t, file.Data))
				}
			})
		}
	}
}

func replayBroken(t *testing.T, word string, text []byte) {
	data, err := hex.DecodeString(strings.Join(strings.Fields(withoutComments(text)), ""))
	insist(t, err == nil, "%v", err)
	if _, err = Read(bytes.NewReader(data)); wordOf(err) != word {
		t.Errorf("got %v (%s), want an error of the kind %s", err, wordOf(err), word)
	}
}

// recorded is one frame of an archive.
type recorded struct {
	header      string
	volatile    []string
	attachments [][]byte
}

func parseRecorded(t *testing.T, text []byte) recorded {
	t.Helper()
	var r recorded
	for line := range strings.Lines(withoutComments(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
		case strings.HasPrefix(line, "volatile:"):
			r.volatile = strings.Fields(line)[1:]
		case strings.HasPrefix(line, "attachment:"):
			data, err := hex.DecodeString(strings.TrimSpace(strings.TrimPrefix(line, "attachment:")))
			insist(t, err == nil, "%v", err)
			r.attachments = append(r.attachments, data)
		default:
			r.header = line
		}
	}
	return r
}

func withoutComments(text []byte) string {
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "#") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// replayFrame reads a frame into its struct, which must know every field, and
// writes the struct again, which must give the same values.
func replayFrame(t *testing.T, name string, r recorded) {
	newMessage, ok := messages[name]
	insist(t, ok, "no message for %s", name)
	f, err := Read(bytes.NewReader(r.bytes(t)))
	insist(t, err == nil, "%v", err)
	expect(t, cmp.Equal(f.attachments, r.attachments), "attachments: got %x, want %x", f.attachments, r.attachments)
	message := newMessage()
	fields := jsonObject(t, f.header)
	delete(fields, "attachments")
	delete(fields, "type")
	strictly(t, fields, message)
	written, err := Encode(f.Kind, message)
	insist(t, err == nil, "%v", err)
	again := jsonObject(t, written[4:])
	want := jsonObject(t, []byte(r.header))
	if strings.HasPrefix(name, "py-") {
		// Go never sends these; it leaves out what is empty.
		dropEmpty(again)
		dropEmpty(want)
	}
	diff := cmp.Diff(want, again)
	expect(t, diff == "", "written again, it differs (-recorded +written):\n%s", diff)
}

// bytes is the frame as it travels.
func (r recorded) bytes(t *testing.T) []byte {
	header := jsonObject(t, []byte(r.header))
	var parts []string
	if len(r.attachments) > 0 {
		var sizes []int
		for _, data := range r.attachments {
			sizes = append(sizes, len(data))
			parts = append(parts, string(data))
		}
		header["attachments"] = sizes
	}
	text, err := json.Marshal(header)
	insist(t, err == nil, "%v", err)
	return rawFrame(string(text), parts...)
}

// strictly decodes and refuses unknown fields.
func strictly(t *testing.T, fields map[string]any, message any) {
	t.Helper()
	text, err := json.Marshal(fields)
	insist(t, err == nil, "%v", err)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(message); err != nil {
		t.Errorf("%T: %v", message, err)
	}
}

// jsonObject keeps numbers as they are written.
func jsonObject(t *testing.T, text []byte) map[string]any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var object map[string]any
	err := decoder.Decode(&object)
	insist(t, err == nil, "%s: %v", text, err)
	return object
}

// dropEmpty removes what omitempty would, and makes numbers comparable.
func dropEmpty(object map[string]any) {
	maps.DeleteFunc(object, func(name string, value any) bool {
		switch value := value.(type) {
		case map[string]any:
			dropEmpty(value)
			return len(value) == 0
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					dropEmpty(item)
				}
			}
			return len(value) == 0
		case string:
			return value == ""
		case json.Number:
			if number, err := strconv.ParseFloat(value.String(), 64); err == nil && name == "exec_time" {
				object[name] = fmt.Sprint(number)
			}
			return false
		default:
			return value == nil
		}
	})
}
