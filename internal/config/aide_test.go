package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// aideConfig has the keys of AIDE's own file, with values that are not the usual ones.
const aideConfig = `
data_dir: DATA
desc_file: null
goal: Predict the price
eval: RMSE of its logarithm
log_dir: /runs
log_level: WARNING
workspace_dir: workspaces
preprocess_data: True
copy_data: False
exp_name: houses
exec:
  timeout: 600
  agent_file_name: runfile.py
  format_tb_ipython: True
agent:
  steps: 12
  time_limit: 86400
  k_fold_validation: 5
  data_preview: True
  code:
    model: some-model
    temp: 0.5
  search:
    max_debug_depth: 4
    debug_prob: 0.25
    num_drafts: 3
idle-ttl: 2h
`

// TestAIDEsFile: what it shares with ours holds, the rest is named.
func TestAIDEsFile(t *testing.T) {
	data := t.TempDir()
	env := configFile(t, strings.ReplaceAll(aideConfig, "DATA", data))
	c := must(t, env)
	x := c.Serve.Experiments
	expect(t, x.Task == "Predict the price\n\nHow a solution is measured: RMSE of its logarithm" && x.ExperimentName == "houses" &&
		x.Trials && x.Steps == 12 && x.Drafts == 3 && x.DebugDepth == 4 && x.DebugProb == 0.25 &&
		slices.Equal(x.Data, []string{data}) && x.DataMode == DataLink && x.RunDir == "/runs",
		"%+v", x)
	expect(t, c.Serve.Timeout == 10*time.Minute && c.Serve.Traceback == "ipython" && c.Serve.CodeFile == "runfile.py" && c.LogLevel == "warn" && c.Serve.IdleTTL == 2*time.Hour,
		"%+v", c.Serve)
	want := []string{"workspace_dir", "agent.time_limit", "agent.k_fold_validation", "agent.code.model", "agent.code.temp"}
	expect(t, slices.Equal(c.Ignored, want), "ignored: %q", c.Ignored)
	over := must(t, env, "--steps", "3", "--task", "another")
	expect(t, over.Serve.Steps == 3 && over.Serve.Task == "another", "flags are not stronger: %+v", over.Serve.Experiments)
}

// TestAIDEsTask: a file is stronger than a goal; who sets no task is not taken for AIDE.
func TestAIDEsTask(t *testing.T) {
	file := fileWith(t, "task.md", "From a file.")
	c := must(t, configFile(t, "goal: g\neval: e\ntrials: true\ndesc_file: "+file))
	expect(t, c.Serve.Task == "From a file." && slices.Equal(c.Ignored, []string{"goal (desc_file is the task)", "eval (desc_file is the task)"}),
		"%q, ignored %q", c.Serve.Task, c.Ignored)
	_, err := try(t, configFile(t, "data_dir: /d"))
	expect(t, err != nil && strings.Contains(err.Error(), `did you mean "data-dir"`), "%+v", err)
	_, err = try(t, configFile(t, "goal: g\nagent:\n  steps: many"))
	expect(t, err != nil && strings.Contains(err.Error(), "line 3: steps"), "%+v", err)
}
