package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// browser is a page in a headless Chromium, spoken with through two pipes in the
// protocol of its developer tools: JSON messages, each with a NUL behind it.
type browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string
	loaded  map[string]bool // the documents that are, by what the browser calls their loads
}

// openPage opens a file in a Chromium without a network. The test is skipped where
// none is installed.
func openPage(t *testing.T, file string) *browser {
	t.Helper()
	var program string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		t.Skip("there is no Chromium")
	}
	hear, to := pipe(t)
	from, say := pipe(t)
	// Not the test's context, which is over before the cleanup: killing Chromium leaves
	// its other processes behind, which still write in its directory while that is removed.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "--window-size=1200,900",
		"--proxy-server=127.0.0.1:9", "--no-first-run", "--disable-background-networking")
	cmd.ExtraFiles = []*os.File{hear, say} // its descriptors 3 and 4
	// All its processes hold its stdout and stderr, so Wait waits for the last of them.
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	_, _ = hear.Close(), say.Close()
	b := &browser{t: t, to: to, from: bufio.NewReader(from), loaded: map[string]bool{}}
	t.Cleanup(func() {
		_ = to.Close() // it ends when nobody speaks with it any more
		_ = from.Close()
		if err := cmd.Wait(); err != nil || t.Failed() {
			t.Logf("the browser: %v\n%s", err, &said)
		}
		cancel()
	})
	_ = from.SetReadDeadline(time.Now().Add(4 * time.Minute))
	page := b.do("Target.createTarget", map[string]any{"url": "about:blank"})
	attached := b.do("Target.attachToTarget", map[string]any{"targetId": page["targetId"], "flatten": true})
	b.session = attached["sessionId"].(string)
	b.do("Page.enable", nil)
	b.do("Page.setLifecycleEventsEnabled", map[string]any{"enabled": true})
	b.untilLoaded(b.do("Page.navigate", map[string]any{"url": "file://" + file})["loaderId"])
	return b
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	return r, w
}

// browserMessage is what the browser says: an answer, or an event.
type browserMessage struct {
	ID     int
	Method string
	Result map[string]any
	Params map[string]any
	Error  *struct{ Message string }
}

// do has the browser do something, and returns its answer.
func (b *browser) do(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.id++
	request := map[string]any{"id": b.id, "method": method}
	if params != nil {
		request["params"] = params
	}
	if b.session != "" {
		request["sessionId"] = b.session
	}
	encoded, err := json.Marshal(request)
	must(b.t, err)
	if _, err := b.to.Write(append(encoded, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.next()
		insist(b.t, m.ID != b.id || m.Error == nil, "%s: %+v", method, m.Error)
		if m.ID == b.id {
			return m.Result
		}
		b.note(m)
	}
}

// untilLoaded returns once the document is loaded, be it before the last answer. That the
// empty page, which was there first, is loaded may be told of as late as then.
func (b *browser) untilLoaded(document any) {
	b.t.Helper()
	for !b.loaded[fmt.Sprint(document)] {
		b.note(b.next())
	}
}

// note takes notice of an event.
func (b *browser) note(m browserMessage) {
	if m.Method == "Page.lifecycleEvent" && m.Params["name"] == "load" {
		b.loaded[fmt.Sprint(m.Params["loaderId"])] = true
	}
}

func (b *browser) next() (m browserMessage) {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err == nil {
		err = json.Unmarshal(text[:len(text)-1], &m)
	}
	insist(b.t, err == nil, "the browser said %q: %v", text, err)
	return m
}

// value is what a JavaScript expression comes to.
func (b *browser) value(expression string) any {
	b.t.Helper()
	answer := b.do("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	fault := answer["exceptionDetails"]
	insist(b.t, fault == nil, "%s: %v", expression, fault)
	return answer["result"].(map[string]any)["value"]
}

// click presses and lets go the mouse in the middle of an element, wherever on the
// screen that is.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := b.value(fmt.Sprintf(`(() => {
		const found = document.querySelector(%q);
		found.scrollIntoView({block: "center", inline: "center"});
		const box = found.getBoundingClientRect();
		return [box.x + box.width / 2, box.y + box.height / 2];
	})()`, selector)).([]any)
	for _, what := range []string{"mousePressed", "mouseReleased"} {
		b.do("Input.dispatchMouseEvent", map[string]any{"type": what, "x": at[0], "y": at[1], "button": "left", "clickCount": 1})
	}
}
