package sessions

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Asking is how a call can put a question of the code's, from input(), to a
// person. The zero value can't.
type Asking struct {
	// Ask asks and returns the reply. It may go on after its call has been
	// answered; its context ends when the code waits no more.
	Ask func(ctx context.Context, prompt string) Reply
	// Return has the call return with the question, in its result's Question;
	// Manager.Await takes the reply.
	Return bool
	// WithOutput has that result bring the output so far.
	WithOutput bool
}

func (a Asking) possible() bool { return a.Ask != nil || a.Return }

// Asked is a question that a call has returned with.
type Asked struct {
	Number int // of the execution's questions, from 1
	Prompt string
}

// Answer is the reply to a question that an earlier call has returned with.
type Answer struct {
	Execution, Question int
	Reply               Reply
}

// askAgain is how long a person may take to answer before another call asks once
// more: some clients lose the answer when the call that asked is over.
const askAgain = 5 * time.Minute

// cannotAsk is why the code gets no answer from a client that can't ask.
const cannotAsk = "the client can't ask its user; assign the value in the code instead"

// questions are those that an execution asks, one at a time. Whoever waits for
// the execution puts them. One that comes while nobody waits is kept for the
// next call if the last one could have asked, else it is refused.
type questions struct {
	mu       sync.Mutex
	possible bool // the last call that waited could ask
	count    int
	open     *openQuestion
	news     chan struct{} // closed when a question is asked
}

type openQuestion struct {
	Asked
	reply func(Reply)
	put   time.Time       // when a person was asked; zero: nobody was yet
	ctx   context.Context // ends when the code waits no more
	end   context.CancelFunc
}

// Ask keeps a question until somebody has answered it.
func (qs *questions) Ask(question Question) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if !qs.possible {
		question.Reply(Reply{Refusal: cannotAsk})
		return
	}
	qs.drop()
	qs.count++
	qs.keep(&openQuestion{Asked: Asked{qs.count, question.Prompt}, reply: question.Reply})
}

// sink is where what an execution says goes.
type sink struct {
	*transcript
	questions *questions
}

func (s sink) Ask(question Question) { s.questions.Ask(question) }

// take returns the open question, if there is one that this call is to put, and
// what is closed when there is another. A call that can't ask has it refused.
func (qs *questions) take(asking Asking) (q *openQuestion, news <-chan struct{}) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.possible = asking.possible()
	if qs.news == nil {
		qs.news = make(chan struct{})
	}
	switch {
	case qs.open == nil || time.Since(qs.open.put) < askAgain:
	case !qs.possible:
		qs.settle(Reply{Refusal: cannotAsk})
	default:
		q = qs.open
		if asking.Ask != nil {
			q.put = time.Now()
		}
	}
	return q, qs.news
}

// answer passes on the reply to a question, if that is still open.
func (qs *questions) answer(number int, r Reply) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open != nil && qs.open.Number == number {
		qs.settle(r)
	}
}

// replyTo is answer for who was asked with q.
func (qs *questions) replyTo(q *openQuestion, r Reply) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == q {
		qs.settle(r)
	}
}

// withdraw has the open question put again, by whoever waits next: who was
// asked has left.
func (qs *questions) withdraw() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == nil {
		return
	}
	again := *qs.open
	qs.drop()
	again.put = time.Time{}
	qs.keep(&again)
}

// keep makes q the open question. The caller holds mu.
func (qs *questions) keep(q *openQuestion) {
	q.ctx, q.end = context.WithCancel(context.Background())
	qs.open = q
	if qs.news != nil {
		close(qs.news)
		qs.news = nil
	}
}

// settle answers the open question. The caller holds mu.
func (qs *questions) settle(r Reply) {
	q := qs.open
	qs.drop()
	q.reply(r)
}

// end forgets the open question, because the code waits no more.
func (qs *questions) end() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.drop()
}

func (qs *questions) drop() {
	if qs.open != nil {
		qs.open.end()
		qs.open = nil
	}
}

// pending returns the prompt of the open question.
func (qs *questions) pending() (prompt string, open bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == nil {
		return "", false
	}
	return qs.open.Prompt, true
}

// attend waits for e's end until waiting ends, and meanwhile puts its questions.
// It returns one that the call is to return with.
func (s *Session) attend(waiting context.Context, e *execution, asking Asking) *openQuestion {
	for {
		q, news := e.questions.take(asking)
		switch {
		case q != nil && asking.Ask != nil:
			s.put(e, q, asking)
		case q != nil:
			return q
		}
		select {
		case <-e.done:
			return nil
		case <-waiting.Done():
			return nil
		case <-news:
		}
	}
}

// put has a person asked, who may take longer than the call waits.
func (s *Session) put(e *execution, q *openQuestion, asking Asking) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.running.Go(func() { e.questions.replyTo(q, asking.Ask(q.ctx, q.Prompt)) })
}

// asks is the record of an execution that waits for the answer to q, with which
// the call returns.
func (e *execution) asks(interpreterID string, q *openQuestion, asking Asking) *Result {
	r := e.standing(interpreterID)
	if asking.WithOutput {
		r.fill(e.transcript.take())
	}
	r.Question = &q.Asked
	return r
}

// meant returns the execution that a wait is for, and passes on the answer that
// it may bring. Its caller, the operator or another, waits for it until
// leaveExecution.
func (s *Session) meant(answer *Answer, operator bool) (*execution, error) {
	if answer != nil {
		e, err := s.execution(answer.Execution)
		if err == nil {
			e.questions.answer(answer.Question, answer.Reply)
		}
		return e, err
	}
	if e := s.pending(operator); e != nil {
		return e, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if other := s.foreign(operator); other != "" {
		return nil, Errorf(CodeInvalid, "nothing of yours is running in interpreter %q and every result has been returned; %s", s.name, other)
	}
	return nil, Errorf(CodeInvalid, "nothing is running in interpreter %q and every result has been returned", s.name)
}

// execution returns the one of that number if its result is still to be had. Its
// caller waits for it until leaveExecution.
func (s *Session) execution(number int) (*execution, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range append(s.uncollected[:len(s.uncollected):len(s.uncollected)], s.current) {
		if e != nil && e.number == number {
			e.waiters++
			return e, nil
		}
	}
	return nil, Errorf(CodeInvalid, "execution %d of interpreter %q waits for no answer any more: it has ended, and its result went to another call. Its code was not run again", number, s.name)
}

// waitsForAnswer says in a clause that e's code has asked, "" if it hasn't.
func (e *execution) waitsForAnswer() string {
	prompt, open := e.questions.pending()
	if !open {
		return ""
	}
	return fmt.Sprintf(", and waits for the answer to input(%q)", clipped(prompt, 200))
}

// clipped is text, at most so many bytes of it.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + "…"
}
