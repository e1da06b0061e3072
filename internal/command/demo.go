package command

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/sessions"
)

//go:embed demo/*.py demo/penguins.csv
var demoFiles embed.FS

const demoData = "penguins.csv"

// Demo plays an agent: a client of this very program over stdio, which works
// on a real data set. It prints the conversation and says where the plots are.
func Demo(ctx context.Context, c *config.Config, out io.Writer) error {
	dir, err := prepareDemo(c.Demo.Dir)
	if err != nil {
		return err
	}
	d := &demo{out: out, dir: dir}
	if err := d.connect(ctx, c); err != nil {
		return err
	}
	err = d.play(ctx)
	return errors.Join(err, d.agent.Close())
}

// prepareDemo makes the working directory with the data in it.
func prepareDemo(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("preparing the demo: %w", err)
	}
	if err := errors.Join(os.MkdirAll(dir, 0o755), app.GiveToSessions(dir, quiet())); err != nil {
		return "", fmt.Errorf("preparing the demo: %w", err)
	}
	data, err := demoFiles.ReadFile("demo/" + demoData)
	if err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, demoData), data, 0o644)
}

// demoStep is one call of the demo.
type demoStep struct {
	file string // of the code
	say  string // what the agent wants
	// needsCopies says that it shows what only Linux can: variables that outlive their process.
	needsCopies bool
	result      string  // result_var_name
	wait        float64 // seconds; 0 is the server's default
	then        string  // an operation of manage_interpreters after the code
}

var demoSteps = []demoStep{
	{file: "1_load", say: "Load the data and look at it."},
	{file: "2_fit", say: "Fit a model to tell the species apart. df is still there from the last call.", result: "scores"},
	{file: "3_plot", say: "Show me."},
	{file: "4_mistake", say: "How long are their wings? (There is no such column: a mistake costs nothing but itself.)"},
	{file: "5_go_on", say: "Never mind. Everything is still there: which species is this one?", result: "answer"},
	{file: "6_long", say: "Something that takes longer than I want to wait for.", wait: 1},
	{file: "7_crash", say: "A library falls over and takes the whole process with it.", needsCopies: true},
	{file: "8_after", say: "The understudy has stepped in: data and model are where they were.", needsCopies: true},
	{file: "9_undo", say: "A mistake that Python does not notice. Undo it.", needsCopies: true, then: "undo"},
}

// demo is a conversation under way.
type demo struct {
	out     io.Writer
	dir     string
	agent   *client.Client
	figures int
	saved   string // the directory of the last figure's file
}

func (d *demo) connect(ctx context.Context, c *config.Config) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding our own program: %w", err)
	}
	args := []string{"serve", "--workdir", d.dir, "--data-dir", c.DataDir, "--log-level", "warn"}
	args = append(args, "--copy-share", "1") // its calls come at once, and it undoes one
	if c.Python != "" {
		args = append(args, "--python", c.Python)
	}
	d.agent, err = client.NewStdioMCPClientWithOptions(self, os.Environ(), args, transport.WithCommandStderrWriter(os.Stderr))
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	d.agent.OnNotification(d.progress)
	if err := d.agent.Start(ctx); err != nil { // the process runs already; this begins the notifications
		return errors.Join(fmt.Errorf("connecting to the server: %w", err), d.agent.Close())
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-demo", Version: app.Version()}
	if _, err := d.agent.Initialize(ctx, hello); err != nil {
		return errors.Join(fmt.Errorf("greeting the server: %w", err), d.agent.Close())
	}
	return nil
}

// play makes the calls one after the other; figures come with them.
func (d *demo) play(ctx context.Context) error {
	fmt.Fprintf(d.out, "An agent talks MCP to understudy serve over stdio, in %s\n", d.dir)
	for i, step := range demoSteps {
		if step.needsCopies && runtime.GOOS != "linux" {
			continue
		}
		fmt.Fprintf(d.out, "\n%d. %s\n", i+1, step.say)
		if err := d.step(ctx, step); err != nil {
			return err
		}
	}
	fmt.Fprintln(d.out, "\nWhat do I have?")
	if _, err := d.call(ctx, "manage_interpreters", map[string]any{"operation": "variables"}); err != nil {
		return err
	}
	if d.figures == 0 {
		return errors.New("no figure came back; `understudy doctor` says what is missing")
	}
	fmt.Fprintf(d.out, "\n%d figures came back as images; the files are in %s\n", d.figures, d.saved)
	return nil
}

// step runs code and, when it takes longer than it was waited for, goes on waiting.
func (d *demo) step(ctx context.Context, step demoStep) error {
	code, err := demoFiles.ReadFile("demo/" + step.file + ".py")
	if err != nil {
		return err
	}
	args := map[string]any{"code": string(code)}
	if step.result != "" {
		args["result_var_name"] = step.result
	}
	if step.wait != 0 {
		args["wait"] = step.wait
	}
	d.block("  │ ", string(code))
	running, err := d.call(ctx, "run_python_code", args)
	for running && err == nil {
		fmt.Fprintln(d.out, "   The agent does something else meanwhile, then goes on waiting.")
		running, err = d.call(ctx, "manage_interpreters", map[string]any{"operation": "wait", "wait": 30})
	}
	if err == nil && step.then != "" {
		_, err = d.call(ctx, "manage_interpreters", map[string]any{"operation": step.then})
	}
	return err
}

// call makes one tool call, shows what a model would read, and reports
// whether the code is still running.
func (d *demo) call(ctx context.Context, tool string, args map[string]any) (running bool, err error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, args
	request.Params.Meta = &mcp.Meta{ProgressToken: tool}
	began := time.Now()
	result, err := d.agent.CallTool(ctx, request)
	if err != nil {
		return false, fmt.Errorf("calling %s: %w", tool, err)
	}
	fmt.Fprintf(d.out, "  %s → answered in %s\n", tool, time.Since(began).Round(time.Millisecond))
	for _, content := range result.Content {
		switch c := content.(type) {
		case mcp.TextContent:
			d.block("  ", c.Text)
		case mcp.ImageContent:
			d.figures++
			d.block("  ", fmt.Sprintf("[an image, %s, %d bytes of base64]", c.MIMEType, len(c.Data)))
		}
	}
	if result.IsError {
		return false, fmt.Errorf("%s was refused", tool)
	}
	record, _ := result.StructuredContent.(map[string]any)
	if paths, _ := record["fig_storage_path"].([]any); len(paths) > 0 {
		d.saved = filepath.Dir(fmt.Sprint(paths[len(paths)-1]))
	}
	return record["status"] == string(sessions.StatusRunning), nil
}

func (d *demo) progress(n mcp.JSONRPCNotification) {
	if n.Method != "notifications/progress" {
		return
	}
	if message, ok := n.Params.AdditionalFields["message"].(string); ok {
		fmt.Fprintf(d.out, "  progress: %s\n", message)
	}
}

// block prints text with every line indented.
func (d *demo) block(indent, text string) {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		fmt.Fprint(d.out, indent, line)
	}
}
