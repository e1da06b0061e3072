package skill

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/deploy"
	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

func ask(t *testing.T, method, params string) (r result) {
	t.Helper()
	got, err := Methods[method](json.RawMessage(params))
	must(t, err)
	text, err := json.Marshal(got)
	must(t, err)
	must(t, json.Unmarshal(text, &r))
	expect(t, r.ResultType == "complete" && r.TTL > 0 && r.CacheScope == "public", "%s answers %s", method, text)
	return r
}

// TestEntryIsOfTheText: a client holds the file that it reads to the digest, and loads no
// skill in whose URI its name is not the last folder.
func TestEntryIsOfTheText(t *testing.T) {
	list := ask(t, "skills/list", "").Skills
	insist(t, len(list) == 1 && len(list[0].Resources) == 1, "the list is %+v", list)
	file, name := list[0].Resources[0], list[0].Frontmatter["name"]
	sum := sha256.Sum256(deploy.Skill)
	expect(t, file.URI == URI && file.Size == len(deploy.Skill) && file.Digest == "sha256:"+hex.EncodeToString(sum[:]), "the file is %+v", file)
	expect(t, name == deploy.SkillName && URI == "skill://"+deploy.SkillName+"/SKILL.md", "%s is named %v", URI, name)

	one := ask(t, "skills/get", `{"uri": "`+URI+`"}`).Skill
	expect(t, one != nil && one.URI == URI && one.Frontmatter["description"] == list[0].Frontmatter["description"], "got %+v", one)
	for _, params := range []string{"", `{"uri": "skill://other/SKILL.md"}`} {
		_, err := Methods["skills/get"](json.RawMessage(params))
		expect(t, errors.Is(err, mcp.ErrInvalidParams), "%q gives %v", params, err)
	}
}
