package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// kind is how a customer speaks with the server.
type kind string

const (
	modernHTTP kind = "modern HTTP"
	legacyHTTP kind = "legacy HTTP"
	legacySSE  kind = "SSE"
)

var kinds = []kind{modernHTTP, legacyHTTP, legacySSE}

// customer is a client with one interpreter, whose id it always names.
type customer struct {
	*market
	kind   kind
	random *rand.Rand
	http   *connection
	client *client.Client
	id     string
	victim string // an interpreter of somebody else's
	trail  []string

	n     int // what the variable n must hold
	other int // what n may hold instead, after a call whose end nobody saw
	given int // how many calls were given up
}

func (m *market) newCustomer(k kind, random *rand.Rand) *customer {
	return &customer{market: m, kind: k, random: random}
}

// visit is what the shortest of customers does.
func (m *market) visit(ctx context.Context, k kind, random *rand.Rand) error {
	c := m.newCustomer(k, random)
	err := c.open(ctx)
	for _, act := range []func(context.Context) error{c.step, c.plot, c.cancel, c.leave} {
		if err == nil {
			err = act(ctx)
		}
	}
	return c.blame(err)
}

// connect greets the server.
func (c *customer) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c.http = newConnection(c.socket)
	var err error
	if c.client, err = c.newClient(); err != nil {
		return err
	}
	if err := c.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "understudy-soak", Version: "1"}
	if _, err = c.client.Initialize(ctx, hello); err != nil {
		return fmt.Errorf("greeting: %w", err)
	}
	return nil
}

func (c *customer) newClient() (*client.Client, error) {
	through := &http.Client{Transport: c.http}
	quiet := slog.New(slog.DiscardHandler) // it tells of what we break
	if c.kind == legacySSE {
		t, err := transport.NewSSE("http://localhost/sse", transport.WithHTTPClient(through), transport.WithSSELogger(quiet))
		return client.NewClient(t), err
	}
	t, err := transport.NewStreamableHTTP("http://localhost/mcp", transport.WithHTTPBasicClient(through), transport.WithHTTPLogger(quiet))
	if err != nil || c.kind == modernHTTP {
		return client.NewClient(t), err
	}
	// The older eras are used for years to come, whatever becomes of the option.
	return client.NewClient(t, client.WithLegacyProtocolOnly()), nil //nolint:staticcheck // SA1019: deprecated
}

// hangUp closes the connections, whatever is under way. rudely tells nobody.
func (c *customer) hangUp(rudely bool) {
	if rudely && c.kind == legacyHTTP {
		// The client says goodbye when it is closed; this one loses its network.
		c.http.down.Store(true)
	}
	_ = c.client.Close() // a connection that is lost can't be closed well
	c.http.through.CloseIdleConnections()
}

// open connects and makes an interpreter.
func (c *customer) open(ctx context.Context) error {
	if err := c.connect(ctx); err != nil {
		return err
	}
	return c.create(ctx)
}

func (c *customer) create(ctx context.Context) error {
	a, err := c.send(ctx, manageTool, arguments{"operation": "create"})
	if err != nil {
		return err
	}
	c.id, c.n, c.other = a.record.InterpreterID, 0, 0
	_, err = c.run(ctx, "n = 0", nil)
	return err
}

// leave deletes the interpreter and says goodbye.
func (c *customer) leave(ctx context.Context) error {
	defer c.hangUp(false)
	if _, err := c.send(ctx, manageTool, arguments{"operation": "delete", "interpreter_id": c.id}); err != nil {
		return err
	}
	c.counts.add("customers who left", 1)
	return nil
}

// send makes a call that must not be refused.
func (c *customer) send(ctx context.Context, tool string, args arguments) (answer, error) {
	a, err := c.try(ctx, tool, args)
	if err == nil && a.refused {
		err = fmt.Errorf("%v was refused: %s", args, a.text)
	}
	return a, err
}

func (c *customer) try(ctx context.Context, tool string, args arguments) (answer, error) {
	c.counts.add("calls", 1)
	c.trail = append(c.trail[max(0, len(c.trail)-9):], fmt.Sprintf("%s %v", time.Now().Format("05.000"), args))
	a, err := c.call(ctx, tool, args)
	if err != nil {
		err = fmt.Errorf("%v was not answered: %w", args, err)
	}
	return a, err
}

// call outlives the panic of mcp-go's client (v1.2.1) when a call is given up in
// the moment in which its connection ends: it then has neither answer nor error.
func (c *customer) call(ctx context.Context, tool string, args arguments) (a answer, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("the client panicked: %v", fault)
		}
	}()
	return callWith(ctx, c.client, tool, args)
}

// run runs code that has to end well.
func (c *customer) run(ctx context.Context, code string, more arguments) (answer, error) {
	args := arguments{"code": code, "interpreter_id": c.id}
	for name, value := range more {
		args[name] = value
	}
	a, err := c.send(ctx, runTool, args)
	if err == nil && a.record.Status != "ok" && a.record.Status != "running" {
		err = fmt.Errorf("%q ended as %s: %s", code, a.record.Status, a.text)
	}
	return a, err
}

// blame says who it was that something went wrong for.
func (c *customer) blame(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("customer over %s, interpreter %s: %w\n%s", c.kind, c.id, err, strings.Join(c.trail, "\n"))
}

// live acts until the time is over, and leaves.
func (c *customer) live(ctx context.Context, until time.Time) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	for time.Now().Before(until) {
		if err := c.choose()(ctx); err != nil {
			return err
		}
		if err := c.check(ctx); err != nil {
			return err
		}
	}
	return c.leave(ctx)
}

// stay steps now and then: somebody must be there for others to intrude on.
func (c *customer) stay(ctx context.Context, until time.Time) error {
	for time.Now().Before(until) {
		if err := c.step(ctx); err != nil {
			return err
		}
		if err := c.check(ctx); err != nil {
			return err
		}
		if err := pause(ctx, min(abandonedTime/10, time.Until(until))); err != nil {
			return err
		}
	}
	return nil
}

func (c *customer) choose() func(context.Context) error {
	choices := []struct {
		weight int
		act    func(context.Context) error
	}{
		{40, c.step}, {6, c.plot}, {8, c.await}, {8, c.cancel}, {6, c.comeBack}, {4, c.renew}, {4, c.intrude}, {4, c.flood},
	}
	total := 0
	for _, choice := range choices {
		total += choice.weight
	}
	at := c.random.IntN(total)
	for _, choice := range choices {
		if at -= choice.weight; at < 0 {
			return choice.act
		}
	}
	panic("the weights do not add up")
}
