package command

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/app"
	"understudy/internal/config"
)

// versionInfo is what the command version says.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol string `json:"protocol"`
}

// PrintVersion is the command version.
func PrintVersion(c *config.Config, out io.Writer) error {
	info := versionInfo{
		Version:  app.Version(),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Protocol: mcp.LATEST_PROTOCOL_VERSION,
	}
	if c.Version.JSON {
		return json.NewEncoder(out).Encode(info)
	}
	_, err := fmt.Fprintf(out, "understudy %s (%s, %s), MCP %s\n", info.Version, info.Go, info.Platform, info.Protocol)
	return err
}
