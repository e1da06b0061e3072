package report

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"strings"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// What of an execution stands in the page at most; journal.json has all of it.
const (
	pageCode    = 100_000 // bytes
	pageOutput  = 16_000  // bytes, of the output and of the traceback each
	pageImage   = 2 << 20 // bytes of one image
	pageImages  = 12 << 20
	pageFigures = 12 // of one execution
)

var (
	//go:embed tree_page.html
	treeHTML string
	//go:embed tree_page.css
	treeCSS string
	//go:embed tree_page.js
	treeJS string
)

// treeData is what the page's script draws.
type treeData struct {
	Started  string     `json:"started"`
	Task     string     `json:"task"`
	Search   string     `json:"search"`
	Steps    int        `json:"steps"`
	Trials   bool       `json:"trials"`
	Metric   string     `json:"metric"`
	Maximize bool       `json:"maximize"`
	Best     int        `json:"best"` // position in Nodes, -1 for none
	Nodes    []treeNode `json:"nodes"`
}

// treeNode is one node of it. Its texts are as people read them.
type treeNode struct {
	Number    int         `json:"number"`
	Parent    int         `json:"parent"` // position, -1 for a root
	Place     string      `json:"place"`
	Stage     string      `json:"stage"`
	State     string      `json:"state"` // running, buggy or good
	Why       string      `json:"why"`
	Plan      string      `json:"plan"`
	Analysis  string      `json:"analysis"`
	Code      string      `json:"code"`
	Measures  string      `json:"measures"` // the metric's name
	Metric    *float64    `json:"metric"`
	Started   string      `json:"started"`
	Took      string      `json:"took"`
	Output    string      `json:"output"`
	Exception string      `json:"exception"`
	Figures   []treeImage `json:"figures"`
}

// treeImage is an image of the page: its data, or its file where it is too large.
type treeImage struct {
	Source string `json:"source"`
	Name   string `json:"name"`
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
		"{{data}}", string(data),
		"{{script}}", treeJS,
	).Replace(treeHTML)), nil
}

// sourceHash allows one inline style or script in a content security policy.
func sourceHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func newTreeData(x *Experiment) *treeData {
	data := &treeData{
		Started: x.Run.Started.UTC().Format(time.RFC3339), Task: readable(x.Run.Task), Search: x.policy(),
		Steps: x.Run.Steps, Trials: x.Name != "", Best: -1, Nodes: make([]treeNode, len(x.Executions)),
	}
	data.Metric, data.Maximize = x.metric()
	positions := make(map[int64]int, len(x.Executions))
	for i, e := range x.Executions {
		positions[e.ID] = i
		data.Nodes[i] = newTreeNode(e, i+1)
		if parent, ok := positions[parentOf(e)]; ok && parent < i {
			data.Nodes[i].Parent = parent
		}
		if x.Best != nil && e.ID == x.Best.ID {
			data.Best = i
		}
	}
	// Images are put in as far as there is room: the best trial's first, then the others'
	// from the newest on.
	room := int64(pageImages)
	if data.Best >= 0 {
		room -= data.Nodes[data.Best].embed(x.Executions[data.Best], room)
	}
	for i := len(x.Executions) - 1; i >= 0; i-- {
		if i != data.Best {
			room -= data.Nodes[i].embed(x.Executions[i], room)
		}
	}
	return data
}

func newTreeNode(e journal.Execution, number int) treeNode {
	node := treeNode{
		Number: number, Parent: -1, Place: placeName(e), State: state(e), Took: took(e),
		Code:    shorten(shownCode(newCell(e).Code), pageCode),
		Started: e.Started.UTC().Format(time.RFC3339), Figures: []treeImage{},
	}
	if t := e.Trial; t != nil {
		node.Number, node.Stage, node.Why = t.Number, t.Stage, readable(t.Why)
		node.Plan, node.Analysis = readable(t.Plan), readable(t.Analysis)
		node.Measures, node.Metric = t.MetricName, t.Metric
	}
	if d := e.Detail; d != nil {
		node.Output = shorten(readable(strings.Join(d.TermOut, "")), pageOutput)
		node.Exception = shorten(readable(d.Record.Traceback), pageOutput)
	}
	return node
}

// state says how an execution stands: running, buggy or good.
func state(e journal.Execution) string {
	switch {
	case e.Status == sessions.StatusRunning:
		return "running"
	case e.Trial != nil && e.Trial.Buggy, e.Trial == nil && e.Status != sessions.StatusOK:
		return "buggy"
	}
	return "good"
}

// embed puts an execution's images into its node, and returns how many bytes those are.
func (n *treeNode) embed(e journal.Execution, room int64) (used int64) {
	all := images(e)
	for _, each := range all[:min(pageFigures, len(all))] {
		image := treeImage{Name: each.Name, Title: readable(each.Title)}
		if info, err := kept(each.From); err == nil && info.Size() <= min(pageImage, room-used) {
			if data, err := os.ReadFile(each.From); err == nil {
				image.Source = dataURL(each.MIME, data)
				used += int64(len(data))
			}
		}
		n.Figures = append(n.Figures, image)
	}
	return used
}
