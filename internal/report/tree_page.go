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
	Run      string     `json:"run"`
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

// treeNode is one node of it.
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
	title := readable(x.title())
	return []byte(strings.NewReplacer(
		"{{title}}", html.EscapeString(title),
		"{{policy}}", fmt.Sprintf("default-src 'none'; img-src data:; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", sourceHash(treeCSS), sourceHash(treeJS)),
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
		Run: x.Run.ID, Started: x.Run.Started.UTC().Format(time.RFC3339),
		Task: readable(x.Run.Task), Search: x.policy(),
		Steps: x.Run.Steps, Trials: x.Name != "", Best: -1,
		Nodes: make([]treeNode, len(x.Executions)),
	}
	data.Metric, data.Maximize = x.metric()
	positions := make(map[int64]int, len(x.Executions))
	for i, e := range x.Executions {
		positions[e.ID] = i
		data.Nodes[i] = newTreeNode(e)
		if parent, ok := positions[parentOf(e)]; ok && parent < i {
			data.Nodes[i].Parent = parent
		}
		if x.Best != nil && e.ID == x.Best.ID {
			data.Best = i
		}
		if e.Trial == nil {
			data.Nodes[i].Number = i + 1
		}
	}
	embedImages(x, data)
	return data
}

func newTreeNode(e journal.Execution) treeNode {
	node := treeNode{
		Parent: -1, Place: placeName(e), State: state(e), Code: shorten(shownCode(newCell(e).Code), pageCode),
		Started: e.Started.UTC().Format(time.RFC3339), Figures: []treeImage{},
	}
	if t := e.Trial; t != nil {
		node.Number, node.Stage, node.Why = t.Number, t.Stage, readable(t.Why)
		node.Plan, node.Analysis = readable(t.Plan), readable(t.Analysis)
		node.Measures, node.Metric = t.MetricName, t.Metric
	}
	node.Took = took(e)
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

// embedImages puts images into the page as far as there is room: the best trial's
// first, then the others' from the newest on.
func embedImages(x *Experiment, data *treeData) {
	room := int64(pageImages)
	if data.Best >= 0 {
		room -= embedInto(&data.Nodes[data.Best], x.Executions[data.Best], room)
	}
	for i := len(x.Executions) - 1; i >= 0; i-- {
		if i != data.Best {
			room -= embedInto(&data.Nodes[i], x.Executions[i], room)
		}
	}
}

// embedInto returns how many bytes it has put in.
func embedInto(node *treeNode, e journal.Execution, room int64) (used int64) {
	for i, each := range images(e) {
		if i == pageFigures {
			break
		}
		shownAs := treeImage{Name: each.Name, Title: readable(each.Title)}
		if info, err := kept(each.From); err == nil && shown[each.MIME] != "" &&
			info.Size() <= min(pageImage, room-used) {
			if bytes, err := os.ReadFile(each.From); err == nil {
				shownAs.Source = "data:" + each.MIME + ";base64," + base64.StdEncoding.EncodeToString(bytes)
				used += int64(len(bytes))
			}
		}
		node.Figures = append(node.Figures, shownAs)
	}
	return used
}
