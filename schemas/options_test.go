package schemas

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestOptions(t *testing.T) {
	a, err := For[trialArgs]("trial", Without("names", "ratio"), Choices("mode", "list"))
	if err != nil {
		t.Fatal(err)
	}
	for _, hidden := range []string{"names", "ratio", "create"} {
		if strings.Contains(string(a.Schema()), hidden) {
			t.Errorf("the schema shows %s: %s", hidden, a.Schema())
		}
	}
	got, err := a.Decode(json.RawMessage(`{"code":"x","reset":true,"mode":"list"}`))
	if err != nil || !got.Reset || got.Mode != "list" {
		t.Errorf("%+v, %v", got, err)
	}
	for raw, want := range map[string]string{
		`{"code":"x","names":{}}`:      `unknown argument "names" for trial; it takes code, interpreter_id, timeout, wait, reset and mode`,
		`{"code":"x","mode":"create"}`: `argument "mode" must be one of "list", not "create"`,
	} {
		if _, err := a.Decode(json.RawMessage(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
