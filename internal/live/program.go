package live

import (
	"context"
	"errors"
	"io"
	"time"

	tea "charm.land/bubbletea/v2"

	"understudy/internal/journal"
)

// mostFrames is how often in a second the terminal is written to at most.
const mostFrames = 16

// Terminal is where a view is shown.
type Terminal struct {
	In   io.Reader
	Out  io.Writer
	Env  []string // its environment: TERM, COLORTERM
	Dull bool     // no colours
}

// Watch shows what the journal says until its reader quits or ctx ends.
func Watch(ctx context.Context, options Options, t Terminal) error {
	ctx, stop := context.WithCancel(ctx)
	look := &poller{options: options}
	m := &model{ctx: ctx, screen: newScreen(options), poller: look, dull: t.Dull}
	env := t.Env
	if t.Dull {
		env = append(env[:len(env):len(env)], "NO_COLOR=1")
	} else {
		m.screen.styles = newStyles(true)
	}
	program := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(t.In), tea.WithOutput(t.Out),
		tea.WithEnvironment(env), tea.WithFPS(mostFrames), tea.WithoutSignalHandler())
	_, err := program.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = ctx.Err()
	}
	stop()
	return errors.Join(err, look.close())
}

// model joins the screen with Bubble Tea and the journal.
type model struct {
	ctx    context.Context
	screen *screen
	poller *poller
	dull   bool
	// looks counts: at most one look goes on, and of the pauses between them only the
	// last begun one ends in a look.
	looking bool
	pauses  int
}

// pauseMsg says that a pause is over.
type pauseMsg int

// loadedMsg brings the details of an execution.
type loadedMsg struct {
	id        int64
	execution *journal.Execution
	problem   error
}

// Init begins with a look at the journal.
func (m *model) Init() tea.Cmd {
	cmds := []tea.Cmd{m.look()}
	if !m.dull {
		cmds = append(cmds, tea.RequestBackgroundColor)
	}
	return tea.Batch(cmds...)
}

// Update takes in what has happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.width, m.screen.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if !m.dull {
			m.screen.styles = newStyles(msg.IsDark())
			m.screen.detail.lines = nil
		}
	case tea.KeyPressMsg:
		return m, m.follow(m.screen.press(msg.String(), msg.Text))
	case update:
		m.looking = false
		cmd := m.follow(m.screen.apply(msg))
		if m.looking {
			return m, cmd
		}
		return m, tea.Batch(cmd, m.pause())
	case pauseMsg:
		if int(msg) == m.pauses {
			return m, m.look()
		}
	case loadedMsg:
		m.screen.loaded(msg.id, msg.execution, msg.problem)
	}
	return m, nil
}

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.screen.view())
	v.AltScreen = true
	return v
}

// follow does what the screen asks for.
func (m *model) follow(e effect) tea.Cmd {
	var cmds []tea.Cmd
	if e.quit {
		return tea.Quit
	}
	if e.poll {
		cmds = append(cmds, m.look())
	}
	if e.load != 0 && m.screen.picture.run != nil {
		cmds = append(cmds, m.load(m.screen.picture.run.ID, e.load))
	}
	return tea.Batch(cmds...)
}

// look begins a look at the journal, if none goes on.
func (m *model) look() tea.Cmd {
	if m.looking {
		return nil // its answer is for another run, and makes for the next look
	}
	m.looking = true
	m.pauses++
	asked := m.screen.ask()
	return func() tea.Msg { return m.poller.poll(m.ctx, asked) }
}

func (m *model) pause() tea.Cmd {
	m.pauses++
	n := m.pauses
	return tea.Tick(pollEvery, func(time.Time) tea.Msg { return pauseMsg(n) })
}

func (m *model) load(run string, id int64) tea.Cmd {
	return func() tea.Msg {
		e, err := m.poller.detail(m.ctx, run, id)
		return loadedMsg{id, e, err}
	}
}
