package worker

import (
	"fmt"
	"sync"

	"understudy/internal/worker/wire"
	"understudy/sessions"
)

// maxAnswer is how many bytes an answer may have: what JSON makes of it must fit
// the socket's buffer, so that writing it never waits for the worker.
const maxAnswer = 32 << 10

// asking is the question that the worker's code waits with, if it does.
type asking struct {
	mu   sync.Mutex
	open bool
	last int // its number
}

// ask passes a question on. What was printed before it comes first.
func (w *worker) ask(f wire.Frame, sink sessions.Sink) error {
	var message wire.Ask
	if err := f.Decode(&message); err != nil {
		return err
	}
	w.line.output.Drain()
	w.asking.begin(message.Question)
	sink.Ask(sessions.Question{
		Prompt: message.Prompt,
		Reply:  func(r sessions.Reply) { w.reply(message.Question, r) },
	})
	return nil
}

// reply answers a question, unless that was answered or the execution is over:
// no other frame is on its way to the worker then.
func (w *worker) reply(question int, r sessions.Reply) {
	if len(r.Text) > maxAnswer {
		r = sessions.Reply{Refusal: fmt.Sprintf("it has %d bytes, and %d are taken; put it into a file and read that", len(r.Text), maxAnswer)}
	}
	w.asking.mu.Lock()
	defer w.asking.mu.Unlock()
	if !w.asking.open || w.asking.last != question {
		return
	}
	w.asking.open = false
	if err := w.conn.Send(wire.TypeAnswer, wire.Answer{Question: question, Text: r.Text, Refusal: r.Refusal}); err != nil {
		w.log.Debug("answering the code's question", "error", err) // the worker is dead, as Run will find
	}
}

func (a *asking) begin(question int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open, a.last = true, question
}

func (a *asking) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = false
}
