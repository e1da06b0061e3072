package command

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"understudy/internal/config"
)

func TestVersionOfABuild(t *testing.T) {
	var out bytes.Buffer
	if err := PrintVersion(&config.Config{Version: config.Version{JSON: true}}, &out); err != nil {
		t.Fatal(err)
	}
	var info versionInfo
	if err := json.Unmarshal(out.Bytes(), &info); err != nil {
		t.Fatal(err)
	}
	if info.Version == "" || !strings.HasPrefix(info.Go, "go") || !strings.HasPrefix(info.Protocol, "20") {
		t.Errorf("version says %+v", info)
	}
}
