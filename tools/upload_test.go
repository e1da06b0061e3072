package tools

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func TestUploadArguments(t *testing.T) {
	c := connect(t, "tester", working(), Options{MaxUpload: 10})
	for _, test := range []struct {
		arguments, want string
		refused         bool
	}{
		{`"path":"a","content":""`, "Uploaded a (0 B)", false},
		{`"path":"a","content":"0123456789"`, "Uploaded a (10 B)", false},
		{`"path":"a","content_base64":"AP8="`, "Uploaded a (2 B)", false},
		{`"path":"a","content_base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 10)) + `"`, "Uploaded a (10 B)", false},
		{`"path":"a"`, "content_base64 (other bytes), one of the two", true},
		{`"path":"a","content":"","content_base64":""`, "Uploaded a (0 B)", false},
		{`"path":"a","content":"abc","content_base64":""`, "Uploaded a (3 B)", false},
		{`"path":"a","content":"","content_base64":"AP8="`, "Uploaded a (2 B)", false},
		{`"path":"a","content":null,"content_base64":null`, "one of the two", true},
		{`"path":"a","content":"abc","content_base64":"AP8="`, "one of the two", true},
		{`"content":"x"`, "path is required for upload operation", true},
		{`"path":"a","content":"01234567890"`, "the file has 11 bytes, and at most 10 are taken at once (--max-upload)", true},
		{`"path":"a","content_base64":"` + base64.StdEncoding.EncodeToString(make([]byte, 11)) + `"`, "at most 10", true},
		{`"path":"a","content_base64":"` + strings.Repeat("A", 1<<20) + `"`, "at most 10", true},
		{`"path":"a","content_base64":"not base64"`, `"content_base64" is not base64`, true},
		{`"path":"a","content":"x","interpreter_id":"theirs"`, "Interpreter theirs not found", true},
		{`"path":"a","contents":"x"`, "content", true},
	} {
		answer := call(t, c, "manage_interpreters", fmt.Sprintf(`{"operation":"upload",%s}`, test.arguments))
		if got := text(t, answer); answer.IsError != test.refused || !strings.Contains(got, test.want) {
			t.Errorf("%.80s: isError %v, %s", test.arguments, answer.IsError, got)
		}
	}
	record := call(t, c, "manage_interpreters", `{"operation":"upload","path":"é/a b","content":"x"}`).StructuredContent.(map[string]any)
	if record["uri"] != "understudy://interpreters/7f/files/%C3%A9/a%20b" {
		t.Errorf("%v", record)
	}
}
