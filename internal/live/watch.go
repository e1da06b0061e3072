package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
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
	m := &model{ctx: ctx, screen: newScreen(options), poller: &poller{options: options}, dull: t.Dull}
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
	return errors.Join(err, m.poller.close())
}

// Snapshot writes how things stand, without colours.
func Snapshot(ctx context.Context, options Options, out io.Writer) error {
	look := &poller{options: options}
	p := look.poll(ctx, 0)
	if err := errors.Join(p.problem, look.close()); err != nil {
		if p.waiting() {
			return fmt.Errorf("there is no run in the journal %s yet: start a server, or name another journal with --journal", options.Path)
		}
		return err
	}
	s := newScreen(options)
	s.take(p)
	_, err := io.WriteString(out, s.snapshot())
	return err
}

// model joins the screen with Bubble Tea and the journal.
type model struct {
	ctx    context.Context
	screen *screen
	poller *poller
	dull   bool
	// At most one look goes on, and of the pauses between them only the last begun one
	// ends in a look.
	looking bool
	asked   int64 // the execution that it asks for
	pauses  int
}

// pauseMsg says that a pause is over.
type pauseMsg int

// Init begins with a look at the journal.
func (m *model) Init() tea.Cmd {
	if m.dull {
		return m.look()
	}
	return tea.Batch(m.look(), tea.RequestBackgroundColor)
}

// Update takes in what has happened.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.screen.width, m.screen.height = msg.Width, msg.Height
	case tea.BackgroundColorMsg:
		if !m.dull {
			m.screen.styles = newStyles(msg.IsDark())
		}
	case tea.KeyPressMsg:
		before := m.screen.opened
		if m.screen.press(msg.String(), msg.Text) {
			return m, tea.Quit
		}
		if m.screen.opened != before {
			return m, m.look()
		}
	case picture:
		m.looking = false
		m.screen.take(msg)
		if m.asked != m.screen.opened { // it was of what nobody watches any more
			return m, m.look()
		}
		m.pauses++
		n := m.pauses
		return m, tea.Tick(pollEvery, func(time.Time) tea.Msg { return pauseMsg(n) })
	case pauseMsg:
		if int(msg) == m.pauses {
			return m, m.look()
		}
	}
	return m, nil
}

// View draws the screen.
func (m *model) View() tea.View {
	v := tea.NewView(m.screen.view())
	v.AltScreen = true
	return v
}

// look begins a look at the journal, if none goes on; the answer to that one, which
// nobody asks for any more, makes for the next.
func (m *model) look() tea.Cmd {
	if m.looking {
		return nil
	}
	m.looking = true
	m.pauses++
	opened := m.screen.opened
	m.asked = opened
	return func() tea.Msg { return m.poller.poll(m.ctx, opened) }
}

// press does what a key asks for and reports whether that is to quit. Keys are named as
// Bubble Tea names them; text is what the key writes, "" if nothing.
func (s *screen) press(key, text string) (quit bool) {
	switch {
	case key == "ctrl+c" || key == "q" && !s.typing:
		return true
	case s.typing:
		s.write(key, text)
		return false
	case s.help || s.opened != 0:
		s.pressPage(key)
		return false
	}
	switch key {
	case "?":
		s.help, s.scroll = true, 0
	case "a":
		s.all = !s.all
		s.plant()
	case "/":
		s.typing = true
	case "f":
		s.follow = !s.follow
		s.plant()
	case "b":
		s.best()
	case "esc":
		s.filter = ""
		s.plant()
	case "enter":
		s.opened, s.scroll = s.selected, 0
	default:
		s.move(step(key, max(1, s.height/2)))
	}
	return false
}

// pressPage is for the help and for an execution that is open.
func (s *screen) pressPage(key string) {
	switch key {
	case "esc", "enter", "?":
		s.help, s.opened = false, 0
	default:
		s.scroll = max(0, s.scroll+step(key, max(1, s.height-4))) // its end is known where it is drawn
	}
}

// write edits the filter.
func (s *screen) write(key, text string) {
	switch key {
	case "enter":
		s.typing = false
		return
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-size]
	case "ctrl+u":
		s.filter = ""
	default:
		s.filter += clean(text)
	}
	s.plant()
}

// best selects the best trial of the experiment at hand, whatever is filtered away.
func (s *screen) best() {
	x := s.experiment()
	if x == nil && len(s.experiments) > 0 {
		x = &s.experiments[0] // all executions, trials among them
	}
	if x != nil && x.tree.Best != nil {
		s.follow, s.filter, s.selected = false, "", x.tree.Best.ID
		s.plant()
	}
}

// move selects a row so many further, or the next one in that direction if it is a
// heading.
func (s *screen) move(by int) {
	if by == 0 || len(s.rows) == 0 {
		return
	}
	s.follow = false
	at := max(0, min(s.row()+by, len(s.rows)-1))
	if s.rows[at].execution == nil && by < 0 && at > 0 {
		at--
	} else if s.rows[at].execution == nil {
		at++ // a heading has rows below it
	}
	s.selected = s.rows[at].execution.ID
}

// step is how far a key moves, in lines.
func step(key string, page int) int {
	const far = 1 << 30 // further than any list is long
	switch key {
	case "down", "j":
		return 1
	case "up", "k":
		return -1
	case "pgdown", "space", "ctrl+d":
		return page
	case "pgup", "ctrl+u":
		return -page
	case "home", "g":
		return -far
	case "end", "G":
		return far
	}
	return 0
}
