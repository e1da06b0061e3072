package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// check compares the interpreter with the model.
func (c *customer) check(ctx context.Context) error {
	a, err := c.run(ctx, "print(n)", nil)
	if err != nil {
		return err
	}
	got, err := strconv.Atoi(strings.TrimSpace(a.record.Stdout))
	if err != nil {
		return fmt.Errorf("n is no number: %w: %s", err, a.text)
	}
	switch got {
	case c.n: // the call whose end nobody saw may still come
	case c.other:
		c.n = got
	default:
		return fmt.Errorf("n is %d, not %d or %d: %s", got, c.n, c.other, a.text)
	}
	return nil
}

// set notes what n must hold.
func (c *customer) set(n int) { c.n, c.other = n, n }

// step is the common call.
func (c *customer) step(ctx context.Context) error {
	next := (c.n*31 + c.random.IntN(1000)) % 1_000_003
	a, err := c.run(ctx, fmt.Sprintf("n = %d; print(n * 2)", next), nil)
	if err == nil && a.record.Stdout != fmt.Sprintf("%d\n", next*2) {
		err = fmt.Errorf("printed %q, not %d", a.record.Stdout, next*2)
	}
	c.set(next)
	return err
}

// plot expects an image, where there is matplotlib.
func (c *customer) plot(ctx context.Context) error {
	a, err := c.run(ctx, "try:\n import matplotlib.pyplot as plt; plt.plot([1, n]); plt.show()\nexcept ImportError: print('none')", nil)
	if err == nil && a.images != 1 && a.record.Stdout != "none\n" {
		err = fmt.Errorf("%d images: %s", a.images, a.text)
	}
	c.counts.add("figures", a.images)
	return err
}

// flood prints more than an answer holds.
func (c *customer) flood(ctx context.Context) error {
	a, err := c.run(ctx, `print("line\n" * 40_000)`, nil)
	if err == nil && (a.record.StdoutTruncated == 0 || len(a.text) > 50_000) {
		err = fmt.Errorf("%d characters were dropped, %d are left", a.record.StdoutTruncated, len(a.text))
	}
	return err
}

// await runs code that is answered as running, and waits for its end.
func (c *customer) await(ctx context.Context) error {
	a, err := c.run(ctx, "import time; time.sleep(0.3); n += 1; print('done')", arguments{"wait": 0.05})
	printed, mine := a.record.Stdout, a.record.Execution
	for err == nil && a.record.Status == "running" {
		if a, err = c.send(ctx, manageTool, arguments{"operation": "wait", "interpreter_id": c.id, "wait": 5}); err != nil {
			break
		}
		if a.record.Execution != mine { // of a call that was given up, whose answer nobody has fetched
			a.record.Status = "running"
			continue
		}
		printed += a.record.Stdout
	}
	if err == nil && (printed != "done\n" || a.record.Status != "ok") {
		err = fmt.Errorf("waited for, it printed %q and ended as %s", printed, a.record.Status)
	}
	c.counts.add("waits", 1)
	c.n, c.other = c.n+1, c.other+1
	return err
}

// cancel gives up a call that would take long: the code is interrupted.
func (c *customer) cancel(ctx context.Context) error {
	hasty, stop := context.WithTimeout(ctx, time.Duration(20+c.random.IntN(300))*time.Millisecond)
	defer stop()
	c.given++
	code := fmt.Sprintf("import time\nif globals().get('given', 0) < %d: time.sleep(600)", c.given)
	_, err := c.try(hasty, runTool, arguments{"code": code, "interpreter_id": c.id})
	if err == nil {
		return fmt.Errorf("a call of ten minutes was answered")
	}
	call := c.http.calls.Load()
	if err := c.sayCancelled(ctx, call); err != nil {
		return err
	}
	c.counts.add("cancelled", 1)
	// The next call waits its turn, which comes when the code has stopped.
	return c.settle(ctx, call)
}

// sayCancelled tells the server that a call was given up. Only a client
// of 2026-07-28 has said so by closing the call's connection: before that a lost
// connection lets the code run on, and mcp-go's client says nothing else.
func (c *customer) sayCancelled(ctx context.Context, call int64) error {
	switch c.kind {
	case modernHTTP:
		return nil
	case legacyHTTP:
		return c.interrupt(ctx)
	}
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	var cancelled mcp.JSONRPCNotification
	cancelled.JSONRPC, cancelled.Method = mcp.JSONRPC_VERSION, string(mcp.MethodNotificationCancelled)
	cancelled.Params.AdditionalFields = map[string]any{"requestId": call}
	return c.client.GetTransport().SendNotification(ctx, cancelled)
}

func (c *customer) interrupt(ctx context.Context) error {
	_, err := c.send(ctx, manageTool, arguments{"operation": "interrupt", "interpreter_id": c.id})
	return err
}

// settle waits until nothing runs in the interpreter, where a call was given up, and
// has it know of that: if the call begins later still, it ends at once.
func (c *customer) settle(ctx context.Context, call int64) error {
	for deadline := time.Now().Add(answerTime); ; {
		a, err := c.try(ctx, runTool, arguments{"code": fmt.Sprintf("given = %d", c.given), "interpreter_id": c.id, "wait": 5})
		switch {
		case err != nil:
			return err
		case !a.refused && a.record.Status == "ok":
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("nothing runs after the call that was given up: %s", a.text)
		}
		// The call may have begun after it was to be stopped: each request has a connection.
		if err := c.sayCancelled(ctx, call); err != nil {
			return err
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// comeBack hangs up in the midst of a call, and comes back with the id of the
// interpreter. Whether the call still has its effect depends on the moment. It may
// begin after calls of the new connection, and has none then if they have changed n.
func (c *customer) comeBack(ctx context.Context) error {
	hasty, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		code := fmt.Sprintf("import time; time.sleep(0.2)\nif n == %d: n += 1000", c.n)
		_, _ = c.try(hasty, runTool, arguments{"code": code, "interpreter_id": c.id})
	}()
	err := pause(ctx, time.Duration(c.random.IntN(300))*time.Millisecond)
	c.hangUp(true)
	stop()
	<-ended
	if err != nil {
		return err
	}
	c.other = c.n + 1000
	c.counts.add("came back", 1)
	return c.reconnect(ctx)
}

// renew hangs up between calls, and comes back.
func (c *customer) renew(ctx context.Context) error {
	c.hangUp(true)
	return c.reconnect(ctx)
}

// reconnect comes back. Where the server does not let the interpreter be
// reached any more, which it says, another one is made.
func (c *customer) reconnect(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	for deadline := time.Now().Add(answerTime); ; {
		a, err := c.try(ctx, runTool, arguments{"code": "pass", "interpreter_id": c.id})
		switch {
		case err != nil:
			return err
		case !a.refused && a.record.Status == "ok":
			c.counts.add("found again", 1)
			return nil
		case a.refused && strings.Contains(a.text, "not found"):
			c.counts.add("not found again", 1)
			return c.create(ctx)
		case time.Now().After(deadline):
			return fmt.Errorf("coming back: %s", a.text)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// intrude guesses at the key of another client's interpreter, and looks for it among its
// own: neither must find it.
func (c *customer) intrude(ctx context.Context) error {
	if c.victim == "" {
		return nil
	}
	guess := []byte(c.victim)
	guess[len(guess)-1] ^= 1 // another hexadecimal digit
	a, err := c.try(ctx, runTool, arguments{"code": "n = -1", "interpreter_id": string(guess)})
	if err == nil && !a.refused {
		err = fmt.Errorf("another client's interpreter was reached: %s", a.text)
	}
	if err == nil {
		a, err = c.try(ctx, manageTool, arguments{"operation": "list"})
	}
	if err == nil && strings.Contains(a.text, c.victim) {
		err = fmt.Errorf("another client's interpreter is listed: %s", a.text)
	}
	c.counts.add("intruders refused", 1)
	return err
}
