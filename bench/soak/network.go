package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// giveUp gives up a call that would take long: the code is interrupted. The next
// call waits its turn, which comes when the code has stopped; if the code begins later
// still, it ends at once, as it has been told.
func (s *session) giveUp() {
	ctx, stop := context.WithTimeout(s.ctx, time.Duration(20+s.random.IntN(300))*time.Millisecond)
	defer stop()
	s.given++
	code := fmt.Sprintf("import time\nif globals().get('given', 0) < %d: time.sleep(600)", s.given)
	if _, err := s.try(ctx, runTool, s.arguments(step{code: code}, nil)); err == nil {
		failf("a call of ten minutes was answered")
	}
	s.model.slack++
	call := s.link.http.calls.Load()
	s.sayCancelled(call)
	s.settle(fmt.Sprintf("given = %d", s.given), func() { s.sayCancelled(call) })
}

// sayCancelled tells the server that a call was given up. Only a client
// of 2026-07-28 has said so by closing the call's connection: before that a lost
// connection lets the code run on, and mcp-go's client says nothing else.
func (s *session) sayCancelled(call int64) {
	switch s.link.kind {
	case legacyHTTP:
		s.manage("interrupt", nil)
	case legacySSE:
		ctx, stop := context.WithTimeout(s.ctx, answerTime)
		defer stop()
		var cancelled mcp.JSONRPCNotification
		cancelled.JSONRPC, cancelled.Method = mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled)
		cancelled.Params.AdditionalFields = map[string]any{"requestId": call}
		fail(s.link.client.GetTransport().SendNotification(ctx, cancelled))
	}
}

// settle runs code as soon as nothing else runs in the interpreter. It reports whether
// the interpreter was there.
func (s *session) settle(code string, again func()) (found bool) {
	s.eventually(answerTime, func() error {
		a := s.send(runTool, s.arguments(step{code: code}, arguments{"wait": 5}))
		switch found = !strings.Contains(a.text, "not found"); {
		case a.refused && !found:
			return nil
		case !a.refused && a.record.Status == "ok":
			s.judge(a, step{}, fine)
			return nil
		}
		s.model.slack++
		again()
		pause(s.ctx, 50*time.Millisecond)
		return fmt.Errorf("the call that was given up runs: %s", a.text)
	})
	return found
}

// comeBack hangs up in the midst of a call, and comes back with the id of the
// interpreter. Whether the call still has its effect depends on the moment; it has it
// once, and it may begin after calls of the new connection.
func (s *session) comeBack() {
	ctx, stop := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	s.given++
	code := fmt.Sprintf("import time; time.sleep(0.2)\ncame.append(%d)", s.given)
	go func() {
		defer close(ended)
		_, _ = s.try(ctx, runTool, s.arguments(step{code: code}, nil))
	}()
	err := guard(func() { pause(ctx, time.Duration(s.random.IntN(300))*time.Millisecond) })
	s.link.hangUp(true)
	stop()
	<-ended
	fail(err)
	s.model.slack++
	s.reconnect()
}

// renew hangs up between calls, and comes back.
func (s *session) renew() {
	s.link.hangUp(true)
	s.reconnect()
}

// reconnect comes back. Where the server does not let the interpreter be
// reached any more, which it says, another one is made.
func (s *session) reconnect() {
	s.link = s.server.connect(s.link.kind)
	if !s.settle("pass", func() {}) {
		s.counts.add("not found again", 1)
		s.id, s.model = "", s.newSession(s.random, s.link.kind).model
		s.open(false)
		return
	}
	s.checkCame()
}

// checkCame looks which of the calls that were given up have had their effect: none
// twice, and no fewer than before.
func (s *session) checkCame() {
	a := s.send(runTool, s.arguments(step{code: "print(came)"}, nil))
	s.judge(a, step{stdout: a.record.Stdout}, fine)
	var came []int
	now := strings.TrimSpace(a.record.Stdout)
	fail(json.Unmarshal([]byte(now), &came))
	slices.Sort(came)
	if !strings.HasPrefix(now, strings.TrimSuffix(s.came, "]")) || len(slices.Compact(came)) != len(came) {
		failf("the calls given up have had the effects %s; before these were %s", now, s.came)
	}
	s.came = now
}

// intrude guesses at the key of another client's interpreter, and looks for it among its
// own: neither must find it.
func (s *session) intrude() {
	guess := []byte(s.victim)
	guess[len(guess)-1] ^= 1 // another hexadecimal digit
	if a := s.send(runTool, arguments{"code": "came = -1", "interpreter_id": string(guess)}); !a.refused {
		failf("another client's interpreter was reached: %s", a.text)
	}
	if a := s.send(manageTool, arguments{"operation": "list"}); strings.Contains(a.text, s.victim) {
		failf("another client's interpreter is listed: %s", a.text)
	}
}
