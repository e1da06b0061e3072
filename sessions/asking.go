package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"understudy/sessions/output"
)

// Asking is how a call can put a question of the code's, from input() or a
// debugger, to a person. The zero value can't: its call returns with the output
// so far, and WaitRequest.Lines answers.
type Asking struct {
	// Ask asks and returns the reply. It may go on after its call has been
	// answered; its context ends when the code waits no more.
	Ask func(ctx context.Context, asked Asked) Reply
	// Return has the call return with the question, in its result's Question;
	// Manager.Await takes the reply.
	Return bool
	// WithOutput has that result bring the output so far.
	WithOutput bool
	// Consent says that who is asked may agree to calls of other servers' tools.
	Consent bool
}

// consents reports whether a person can be asked for a consent.
func (a Asking) consents() bool { return a.Consent && (a.Ask != nil || a.Return) }

// Asked is a question that a call has returned with.
type Asked struct {
	Number int // of the execution's questions, from 1
	Prompt string
	// Consent says that it is whether another server's tool may be called. The reply's
	// Text is one of the Choices.
	Consent bool
}

// Answer is the reply to a question that an earlier call has returned with.
type Answer struct {
	Execution, Question int
	Reply               Reply
}

// askAgain is how long a person may take to answer before another call asks once
// more: some clients lose the answer when the call that asked is over.
const askAgain = 5 * time.Minute

// EndOfInput is a line that is none: what a terminal sends for Ctrl-D.
const EndOfInput = "\x04"

// questions are those that an execution asks, one at a time. Whoever waits for
// the execution puts them. One that comes while nobody waits is kept for the
// next call.
type questions struct {
	mu    sync.Mutex
	count int
	open  *openQuestion
	over  bool            // the code that asked has ended
	ahead []string        // lines that were given for the next questions
	queue []*openQuestion // that wait for the open one to be answered, as threads ask too
	news  chan struct{}   // closed when a question is asked
}

type openQuestion struct {
	Asked
	origin  *openQuestion // what it was before it was put again; nil the first time
	reply   func(Reply)
	put     time.Time       // when a person was asked; zero: nobody was yet
	unasked bool            // the client that should have asked can't
	ctx     context.Context // ends when the code waits no more
	end     context.CancelFunc
}

// Ask keeps a question until somebody has answered it. The main thread asks one at a
// time: an older one of its own was interrupted.
func (qs *questions) Ask(question Question) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.remove(func(q *openQuestion) bool { return !q.Consent })
	if len(qs.ahead) > 0 {
		qs.count++
		line := qs.ahead[0]
		qs.ahead = qs.ahead[1:]
		question.Reply(typed(line))
		return
	}
	qs.enter(&openQuestion{Asked: Asked{Prompt: question.Prompt}, reply: question.Reply})
}

// consent asks a person to agree to the text, until ctx ends.
func (qs *questions) consent(ctx context.Context, text string) Reply {
	replied := make(chan Reply, 1)
	question := &openQuestion{Asked: Asked{Prompt: text, Consent: true}, reply: func(r Reply) { replied <- r }}
	qs.mu.Lock()
	qs.enter(question)
	qs.mu.Unlock()
	select {
	case r := <-replied:
		return r
	case <-ctx.Done():
		qs.mu.Lock()
		defer qs.mu.Unlock()
		qs.remove(func(q *openQuestion) bool { return q.is(question) })
		return Reply{Refusal: "the code waits no more"}
	}
}

// enter has q asked when its turn comes. The caller holds mu.
func (qs *questions) enter(q *openQuestion) {
	if qs.open != nil {
		qs.queue = append(qs.queue, q)
		return
	}
	qs.count++
	q.Number = qs.count
	qs.keep(q)
}

// remove forgets the questions that match, and puts the next one. The caller holds mu.
func (qs *questions) remove(match func(*openQuestion) bool) {
	qs.queue = slices.DeleteFunc(qs.queue, match)
	if qs.open != nil && match(qs.open) {
		qs.drop()
		qs.next()
	}
}

// next puts the question that waits longest. The caller holds mu; none is open.
func (qs *questions) next() {
	if len(qs.queue) > 0 {
		q := qs.queue[0]
		qs.queue = qs.queue[1:]
		qs.enter(q)
	}
}

// is reports whether q is the question, maybe put again.
func (q *openQuestion) is(question *openQuestion) bool { return q == question || q.origin == question }

// sink is where what an execution says goes.
type sink struct {
	*output.Transcript
	questions *questions
	tools     *toolCalls
}

func (s sink) Ask(question Question) { s.questions.Ask(question) }

// take returns the open question, if there is one that this call is to put, and
// what is closed when there is another.
func (qs *questions) take(asking Asking) (q *openQuestion, news <-chan struct{}) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.news == nil {
		qs.news = make(chan struct{})
	}
	if qs.open != nil && time.Since(qs.open.put) >= askAgain {
		q = qs.open
		if asking.Ask != nil && !q.unasked {
			q.put = time.Now()
		}
	}
	return q, qs.news
}

// typed is the reply that a line is.
func typed(line string) Reply {
	if line == EndOfInput {
		return Reply{Refusal: "the end of input was given"}
	}
	return Reply{Text: line}
}

// give answers the open question with the first line, and the next ones with the
// others, if one is open; over says that the code has ended.
func (qs *questions) give(lines []string) (given, over bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == nil || qs.open.Consent { // a model does not agree in its user's place
		return false, qs.over
	}
	qs.ahead = lines[1:]
	qs.settle(typed(lines[0]))
	return true, false
}

// unread says how many lines no question took.
func (qs *questions) unread() int {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	return len(qs.ahead)
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
	switch {
	case qs.open != q:
	case r.Unasked:
		qs.putAgain(true)
	default:
		qs.settle(r)
	}
}

// withdraw has the open question put again, by whoever waits next: who was
// asked has left.
func (qs *questions) withdraw() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open != nil {
		qs.putAgain(qs.open.unasked)
	}
}

// putAgain has the open question put anew. The caller holds mu.
func (qs *questions) putAgain(unasked bool) {
	again := *qs.open
	again.origin = cmp.Or(again.origin, qs.open)
	qs.drop()
	again.put, again.unasked = time.Time{}, unasked
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
	qs.next()
}

// end forgets the open question, because the code waits no more.
func (qs *questions) end() {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.queue = nil
	qs.drop()
	qs.over = true
}

func (qs *questions) drop() {
	if qs.open != nil {
		qs.open.end()
		qs.open = nil
	}
}

// pending returns the open question's prompt, and whether a person was asked.
func (qs *questions) pending() (prompt string, open, person bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	if qs.open == nil || qs.open.Consent && qs.open.put.IsZero() { // not for the model to answer
		return "", false, false
	}
	return qs.open.Prompt, true, !qs.open.put.IsZero()
}

// answerQuestions waits for e's end until that time, and meanwhile puts its questions.
// It returns one that the call is to return with.
func (s *Session) answerQuestions(ctx context.Context, until time.Time, e *execution, asking Asking) *openQuestion {
	late, wake := s.sleep(until)
	defer wake()
	for {
		q, news := e.questions.take(asking)
		switch {
		case q != nil && q.Consent && (q.unasked || !asking.consents()):
			e.questions.replyTo(q, Reply{Refusal: "nobody could be asked"})
			continue
		case q != nil && asking.Ask != nil && !q.unasked:
			s.put(e, q, asking)
		case q != nil:
			return q
		}
		select {
		case <-e.done:
			return nil
		case <-late:
			return nil
		case <-ctx.Done():
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
	s.running.Go(func() { e.questions.replyTo(q, asking.Ask(q.ctx, q.Asked)) })
}

// asks is the record of an execution that waits for the answer to q, with which
// the call returns.
func (e *execution) asks(interpreterID string, q *openQuestion, asking Asking) *Result {
	r := e.soFar(interpreterID)
	r.Status, r.Prompt = StatusAsking, q.Prompt // it may have been answered this moment
	r.PersonAsked = r.PersonAsked || asking.Return
	if asking.WithOutput || !asking.Return {
		r.fill(e.transcript.Take())
	}
	if asking.Return {
		r.Question = &q.Asked
	}
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
	if w := s.worker; w != nil && !operator && s.current == nil && w.Unclaimed() > 0 {
		return nil, errPrinted
	}
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

// give passes lines on to the code that runs and asks, and says which execution is
// to be waited for. Where it has ended meanwhile, as at its time limit, they are late
// and the caller gets its result instead.
func (s *Session) give(lines []string, operator bool) (to *Answer, late bool, err error) {
	e := s.runningNow()
	if e == nil && s.hasUnfetched(operator) {
		return nil, true, nil
	}
	if e == nil || e.operator != operator {
		return nil, false, Errorf(CodeInvalid, "nothing asks in interpreter %q; the text was not passed on", s.name)
	}
	given, over := e.questions.give(lines)
	if !given && !over {
		return nil, false, Errorf(CodeInvalid, "execution %d of interpreter %q runs and asks nothing now; the text was not passed on. Operation \"wait\" goes on waiting for it", e.number, s.name)
	}
	return &Answer{Execution: e.number}, over, nil
}

// hasUnfetched reports whether a result waits to be collected.
func (s *Session) hasUnfetched(operator bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue(operator)) > 0
}

// asksCaller reports whether e's code asks and no person was asked.
func (e *execution) asksCaller() bool {
	_, open, person := e.questions.pending()
	return open && !person
}

// prompt returns the prompt that e's code asks with, "input()" for an empty one, and
// "" when it asks nothing.
func (e *execution) prompt() string {
	prompt, open, _ := e.questions.pending()
	if open && strings.TrimSpace(prompt) == "" {
		return "input()"
	}
	return fmt.Sprintf("%.200s", prompt)
}
