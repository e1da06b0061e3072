// Package skill serves the plugin's skill over MCP, for clients without plugins: the
// extension io.modelcontextprotocol/skills (SEP-2640). The file itself is read as a resource.
package skill

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"
	"go.yaml.in/yaml/v3"

	"understudy/deploy"
)

const (
	// Extension is what a server with these methods declares.
	Extension = "io.modelcontextprotocol/skills"
	// URI is the resource that holds the skill.
	URI = "skill://" + deploy.SkillName + "/SKILL.md"
	// MIMEType is the resource's.
	MIMEType = "text/markdown"
)

// entry tells all of a skill but its text, so that a client can show it to its user and
// hold what it reads later to what was shown.
type entry struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	Resources   []file         `json:"resources"`
}

type file struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"`
	Size   int    `json:"size"`
}

// result is what both methods answer, the one with a list and the other with one.
type result struct {
	ResultType string  `json:"resultType"`
	Skills     []entry `json:"skills,omitempty"`
	Skill      *entry  `json:"skill,omitempty"`
	TTL        int     `json:"ttlMs"`
	CacheScope string  `json:"cacheScope"`
}

// hour is how long an answer holds, in milliseconds: it changes with the program alone.
const hour = 60 * 60 * 1000

// Methods are the extension's methods, by their names.
var Methods = map[string]func(params json.RawMessage) (any, error){
	"skills/list": func(json.RawMessage) (any, error) {
		own, err := ours()
		return result{ResultType: "complete", Skills: []entry{own}, TTL: hour, CacheScope: "public"}, err
	},
	"skills/get": func(params json.RawMessage) (any, error) {
		var asked struct{ URI string }
		if err := json.Unmarshal(params, &asked); err != nil || asked.URI != URI {
			return nil, fmt.Errorf("%w: no such skill; skills/list shows what there is", mcp.ErrInvalidParams)
		}
		own, err := ours()
		return result{ResultType: "complete", Skill: &own, TTL: hour, CacheScope: "public"}, err
	},
}

func ours() (entry, error) {
	parts := bytes.SplitN(deploy.Skill, []byte("---\n"), 3)
	if len(parts) < 3 {
		return entry{}, errors.New("the skill has no frontmatter")
	}
	e := entry{URI: URI, Resources: []file{{
		URI: URI, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(deploy.Skill)), Size: len(deploy.Skill),
	}}}
	return e, yaml.Unmarshal(parts[1], &e.Frontmatter)
}
