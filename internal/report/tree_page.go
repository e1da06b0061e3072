package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"

	"understudy/internal/journal"
)

// What of an execution stands in the page at most; journal.json has all of it.
const (
	pageCode   = 100_000 // bytes
	pageOutput = 16_000  // bytes, of the output and of the traceback each
	pageImage  = 2 << 20 // bytes of one image
	pageImages = 12 << 20
)

var (
	//go:embed tree_page.html
	treeHTML string
	//go:embed tree_page.css
	treeCSS string
	//go:embed tree_page.js
	treeJS string
)

// treeData is what the page's script draws: journal.json, its texts as people read them.
type treeData struct {
	Saved
	Metric   string               `json:"metric"`
	Maximize bool                 `json:"maximize"`
	Search   string               `json:"search"` // how it searches, in words
	Took     []string             `json:"took"`   // by the nodes, in words
	Images   map[string]treeImage `json:"images"` // by the names of Figures
}

// treeImage is an image of the page; without a source it is too large, or gone.
type treeImage struct {
	Source string `json:"source"`
	Title  string `json:"title"`
}

// treePage is the file tree_plot.html.
func treePage(x *Experiment) ([]byte, error) {
	data, err := json.Marshal(newTreeData(x)) // which escapes <, >, & and U+2028
	if err != nil {
		return nil, err
	}
	policy := "default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; form-action 'none'"
	return []byte(strings.NewReplacer(
		"{{title}}", html.EscapeString(readable(x.title())),
		"{{policy}}", fmt.Sprintf(policy, sourceHash(treeCSS), sourceHash(treeJS)),
		"{{style}}", treeCSS,
		"{{data}}", string(escapeHidden(data)),
		"{{script}}", treeJS,
	).Replace(treeHTML)), nil
}

// sourceHash allows one inline style or script in a content security policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func newTreeData(x *Experiment) treeData {
	data := treeData{Saved: newSaved(x), Search: x.policy(), Images: map[string]treeImage{}}
	data.Metric, data.Maximize = x.metric()
	data.Run.Task, data.Run.Workspace = readable(data.Run.Task), ""
	for i, e := range x.Executions {
		node := &data.Nodes[i]
		data.Took = append(data.Took, took(e))
		node.Code = shorten(shownCode(commented(newCell(e))), pageCode)
		node.Plan, node.Analysis, node.Why = readable(node.Plan), readable(node.Analysis), readable(node.Why)
		node.Traceback = shorten(readable(node.Traceback), pageOutput)
		node.ExcInfo, node.ExcStack, node.TermOut, node.Output = nil, nil, nil, nil
		if e.Detail != nil {
			node.TermOut = []string{shorten(readable(strings.Join(e.Detail.TermOut, "")), pageOutput)}
		}
	}
	// Images are put in as far as there is room: the best trial's first, then the others'
	// from the newest on.
	room := int64(pageImages)
	if x.Best != nil {
		room -= data.embed(*x.Best, room)
	}
	for _, e := range slices.Backward(x.Executions) {
		room -= data.embed(e, room)
	}
	return data
}

// embed puts an execution's images into the page, and returns how many bytes those are.
func (d *treeData) embed(e journal.Execution, room int64) (used int64) {
	for _, each := range images(e) {
		if _, there := d.Images[each.Name]; there || each.From == "" {
			continue
		}
		image := treeImage{Title: readable(each.Title)}
		if info, err := kept(each.From); err == nil && info.Size() <= min(pageImage, room-used) {
			if data, err := os.ReadFile(each.From); err == nil {
				image.Source = dataURL(each.MIME, data)
				used += int64(len(data))
			}
		}
		d.Images[each.Name] = image
	}
	return used
}
