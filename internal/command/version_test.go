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
	must(t, PrintVersion(&config.Config{Version: config.Version{JSON: true}}, &out))
	var info versionInfo
	must(t, json.Unmarshal(out.Bytes(), &info))
	expect(t, info.Version != "" && strings.HasPrefix(info.Go, "go") && strings.HasPrefix(info.Protocol, "20"), "version says %+v", info)
}
