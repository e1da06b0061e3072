package schemas

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

type frame struct {
	File string
	Line int
}

type report struct {
	Status string   `json:"status" jsonschema:"enum=ok,enum=error"`
	Frames []frame  `json:"frames,omitempty"`
	Took   *float64 `json:"took,omitempty"`
}

func TestReflect(t *testing.T) {
	got, err := Reflect(report{}, frame{})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"properties":{` +
		`"status":{"type":"string","enum":["ok","error"]},` +
		`"frames":{"items":{"prefixItems":[{"type":"string","title":"file"},{"type":"integer","title":"line"}],"type":"array","maxItems":2,"minItems":2},"type":"array"},` +
		`"took":{"type":"number"}},` +
		`"additionalProperties":false,"type":"object","required":["status"]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}
