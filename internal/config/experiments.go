package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Experiments are the settings of what is recorded, and of experiments.
type Experiments struct {
	NoJournal   bool          `name:"no-journal" group:"Journal" help:"Record nothing."`
	JournalKeep time.Duration `default:"2160h" group:"Journal" help:"How long the journal keeps what was run, from its server's end on, and how long figures, artifacts and whole outputs of a server on stdio stay; 0 keeps them for ever."`
	JournalSize int64         `least:"0" type:"size" default:"2GB" group:"Journal" help:"How large the journal may become with the files that belong to it, and what servers on stdio have left; the oldest servers' runs go first. 0 sets no limit."`

	Trials         bool    `negatable:"" group:"Experiments" help:"Let runs be trials of an experiment: run_python_code takes plan, metric_var_name and maximize, the answer names the best trial so far, and journal.json, config.yaml, tree_plot.html and best_solution.py are written after each."`
	Steps          int     `least:"1" default:"20" group:"Experiments" help:"How many trials an experiment is to have, for its progress, its prompt and its answers."`
	Task           string  `type:"text" placeholder:"TEXT|@FILE" group:"Experiments" help:"What experiments are to solve; @FILE reads it from a file. The prompt experiment begins with it, and the journal, watch, the tree page and the report show it."`
	ExperimentName string  `placeholder:"NAME" group:"Experiments" help:"What the experiments of this server are called where they are shown."`
	Drafts         int     `least:"1" default:"5" group:"Experiments" help:"How many solutions that differ in kind an experiment begins with, but at most half of its trials."`
	DebugDepth     int     `least:"1" default:"3" group:"Experiments" help:"After how many debugs in a row a line of trials that is still buggy is given up."`
	DebugProb      float64 `least:"0" most:"1" default:"1" placeholder:"SHARE" group:"Experiments" help:"The share of buggy trials that are debugged, from 0 to 1; for the others the best one is improved."`

	RunDir    string   `type:"path" placeholder:"DIR" group:"Experiments" help:"Where the files of experiments are written, each in a directory of its own. Default: experiments in the data directory."`
	Data      []string `type:"path" sep:"none" placeholder:"PATH" group:"Experiments" help:"File or directory to put into input/ of a workspace that all interpreters work in; may be repeated. Of a directory it is the contents; zip, tar, tar.gz and tar.bz2 files are unpacked into directories of their names."`
	DataMode  string   `enum:"copy,link" default:"copy" group:"Experiments" help:"How data gets into the workspace: ${enum}. link makes symbolic links, and archives are unpacked all the same."`
	Workspace string   `type:"path" placeholder:"DIR" group:"Experiments" help:"Directory of the workspace. Default: a new one below workspaces in the data directory, removed at the end if nothing ran in it. One that is named stays, and the data in it is used again."`
}

// The values of Experiments.DataMode.
const (
	DataCopy = "copy"
	DataLink = "link"
)

func (e Experiments) check(mode, workdir string) error {
	var problems []error
	if e.Trials && e.NoJournal {
		problems = append(problems, errors.New("trials are kept in the journal: leave --no-journal out, or --trials"))
	}
	if e.Trials && mode != ModeFull {
		problems = append(problems, errors.New("trials are code: --trials needs --mode full"))
	}
	if e.Workspace != "" && len(e.Data) == 0 {
		problems = append(problems, errors.New("workspace is for --data; --workdir chooses a directory without data"))
	}
	if workdir != "" && len(e.Data) > 0 {
		problems = append(problems, errors.New("with --data all interpreters work in the workspace: leave --workdir out, or say with --workspace where the workspace is to be"))
	}
	return errors.Join(append(problems, e.checkTask())...)
}

// mostTask is how long a task may be, in bytes: as much as a prompt takes.
const mostTask = 40_000

func (e Experiments) checkTask() error {
	switch {
	case len(e.Task) > mostTask:
		return fmt.Errorf("task has %d bytes; %d are the most: put the rest into a file among --data, and name that in the task", len(e.Task), mostTask)
	case !utf8.ValidString(e.Task):
		return errors.New("task is not UTF-8 text")
	case strings.ContainsFunc(e.ExperimentName, unicode.IsControl) || len(e.ExperimentName) > 200:
		return errors.New("experiment-name must be one line of at most 200 bytes")
	}
	return nil
}

// Watch are the flags of watch.
type Watch struct {
	Run     string `arg:"" optional:"" help:"Which server's run, by the beginning of its id. Default: the newest, with a list of the others."`
	Plain   bool   `help:"Print lines instead of a screen, as for a pipe."`
	Once    bool   `help:"Print how things stand, and end."`
	NoColor bool   `name:"no-color" help:"Use no colours; so does NO_COLOR in the environment."`
}

// Report are the flags of report.
type Report struct {
	Run string `arg:"" optional:"" help:"Which server's run, by the beginning of its id. Default: the newest with an experiment."`
	Dir string `name:"out" short:"o" type:"path" placeholder:"DIR" help:"Directory to write to. Default: the experiment's own."`
}

// Export are the flags of export.
type Export struct {
	What   string `arg:"" optional:"" name:"interpreter[@execution]" help:"Which interpreter, by the beginning of its id, and up to which of its executions, as 3fa9@7. Default: the last one that ran something; best is the way to the best trial."`
	Format string `enum:"ipynb,html,py" default:"ipynb" help:"What to write: ${enum}."`
	File   string `name:"out" short:"o" type:"path" placeholder:"FILE" help:"File to write. Default: standard output."`
}
