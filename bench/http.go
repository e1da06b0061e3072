package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

// crowds are how many clients call at once. Each makes its next call as soon as
// it has the answer to the last.
var crowds = []int{1, 8, 64}

const (
	httpCode   = "print(1234*5678)"
	httpAnswer = "7006652"
	// Calls of one round, of all clients together.
	httpCalls       = 256
	httpCallsAlone  = 64
	httpCallsSlow   = 64 // of the contender that takes a quarter of a second for each
	httpCallsSlow1  = 8
	wantedPeerGain  = 5   // times the calls a second of the peer with real sessions
	wantedInProcess = 1.5 // times what FastMCP's exec takes for each call, with the largest crowd
)

// party is one contender over the network with its clients.
type party struct {
	name    string
	slow    bool
	clients []*caller
	loads   map[int]*crowdLoad // by the size of the crowd
}

// crowdLoad is what was measured with one size of the crowd: calls a second, and of
// each round's calls the one that 95 of 100 are faster than.
type crowdLoad struct{ rate, late values }

// measureHTTP measures calls over HTTP and SSE with many clients at once.
func measureHTTP(ctx context.Context, b *bench) (err error) {
	var ends closers
	defer func() { err = errors.Join(err, ends.close()) }()
	parties, err := startParties(ctx, b, &ends)
	if err != nil {
		return err
	}
	for _, crowd := range crowds {
		var contenders []contender
		for _, p := range parties {
			p.loads[crowd] = &crowdLoad{}
			contenders = append(contenders, contender{fmt.Sprintf("%s, %d clients", p.name, crowd), func() (float64, error) { return p.measure(ctx, crowd) }})
		}
		rates, err := rounds(b.rounds, contenders)
		if err != nil {
			return err
		}
		for i, p := range parties {
			l := p.loads[crowd]
			l.rate, l.late = rates[i], l.late[1:] // the first round warmed up
		}
	}
	reportParties(b, parties)
	return nil
}

// startParties starts all servers and connects their clients.
func startParties(ctx context.Context, b *bench, ends *closers) ([]*party, error) {
	ours, err := startNetworkServer(ctx, b)
	if err != nil {
		return nil, err
	}
	ends.later(ours.close)
	spawning, err := startNetworkServer(ctx, b, "--start", "spawn")
	if err != nil {
		return nil, err
	}
	ends.later(spawning.close)
	fastHTTP, err := startFastMCP(ctx, b, "http")
	if err != nil {
		return nil, err
	}
	ends.later(fastHTTP.close)
	fastSSE, err := startFastMCP(ctx, b, "sse")
	if err != nil {
		return nil, err
	}
	ends.later(fastSSE.close)
	jupyter, kernels, err := startJupyter(ctx, b)
	if err != nil {
		return nil, err
	}
	ends.later(jupyter.close)

	overHTTP := func(d *daemon, token string) func() (remote, error) {
		return func() (remote, error) { return newStreamable("http://"+d.addr+"/mcp", token), nil }
	}
	overSSE := func(d *daemon) func() (remote, error) {
		return func() (remote, error) { return newSSE(ctx, "http://"+d.addr+"/sse") }
	}
	parties := []*party{
		{name: "understudy: HTTP"},
		{name: "understudy: SSE"},
		{name: "FastMCP, `exec` in the server's process: HTTP"},
		{name: "FastMCP, `exec` in the server's process: SSE"},
		{name: "jupyter-mcp-server: HTTP", slow: true},
		{name: "understudy `--start spawn`, without copies: HTTP"},
	}
	connects := []func() (remote, error){overHTTP(ours, ""), overSSE(ours), overHTTP(fastHTTP, ""), overSSE(fastSSE), overHTTP(jupyter, jupyterToken), overHTTP(spawning, "")}
	for i, p := range parties {
		p.loads = map[int]*crowdLoad{}
		if err := p.connect(ctx, connects[i], ends); err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		for n, c := range p.clients {
			if p.slow {
				c.tool, c.with = "execute_code", map[string]any{"code": httpCode, "kernel_id": kernels[n%len(kernels)]}
				c.lost = "[No output generated]" // what several clients at once may get
			}
		}
	}
	return parties, nil
}

// connect greets the server as many times as the largest crowd has clients.
func (p *party) connect(ctx context.Context, connect func() (remote, error), ends *closers) error {
	for range slices.Max(crowds) {
		r, err := connect()
		if err != nil {
			return err
		}
		ends.later(func() error { r.close(); return nil })
		c := &caller{remote: r, tool: "run_python_code", with: map[string]any{"code": httpCode}}
		if err := c.greet(ctx); err != nil {
			return err
		}
		p.clients = append(p.clients, c)
	}
	return nil
}

// calls is how many calls each client of a crowd makes in a round.
func (p *party) calls(crowd int) int {
	switch {
	case p.slow && crowd == 1:
		return httpCallsSlow1
	case p.slow:
		return httpCallsSlow / crowd
	case crowd == 1:
		return httpCallsAlone
	default:
		return httpCalls / crowd
	}
}

// measure has a crowd make its calls and returns calls a second.
func (p *party) measure(ctx context.Context, crowd int) (float64, error) {
	calls := p.calls(crowd)
	took := make([]values, crowd)
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for i, c := range p.clients[:crowd] {
		group.Go(func() error {
			for range calls {
				one, err := c.run(ctx, httpAnswer)
				if err != nil {
					return err
				}
				took[i] = append(took[i], one)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, err
	}
	total := time.Since(began).Seconds()
	all := slices.Sorted(slices.Values(slices.Concat(took...)))
	l := p.loads[crowd]
	l.late = append(l.late, all[len(all)*95/100])
	return float64(crowd*calls) / total, nil
}

// losses is how many calls were answered without what they had printed.
func (p *party) losses() int {
	sum := 0
	for _, c := range p.clients {
		sum += c.losses
	}
	return sum
}

func reportParties(b *bench, parties []*party) {
	ours, inProcess, peer := parties[0], parties[2], parties[4]
	for _, crowd := range crowds {
		t := table{title: fmt.Sprintf("Calls a second over the network, %s", clientsInWords(crowd)), unit: rate}
		if crowd == crowds[0] {
			t.note = fmt.Sprintf("Calls of `%s`; every client has a connection and an MCP session of its own (protocol %s) and calls again as soon as it is answered. "+
				"understudy gives each client a process of its own, with a copy after every call; FastMCP's clients share one namespace in the server's process, "+
				"which a crash or an endless loop takes with it; jupyter-mcp-server runs as the Jupyter server's extension, its fastest form, with %d kernels that its clients share; with several clients it lost what was printed in %d calls, which count all the same.",
				httpCode, protocolVersion, jupyterKernels, peer.losses())
		}
		for i, p := range parties {
			r := row{name: p.name, values: p.loads[crowd].rate}
			if i < 2 || i == len(parties)-1 {
				r.against, r.whose = peer.loads[crowd].rate, "jupyter-mcp-server"
			}
			t.rows = append(t.rows, r)
		}
		b.report.add(t)
		gain := ours.loads[crowd].rate.median() / peer.loads[crowd].rate.median()
		b.report.aim(target{fmt.Sprintf("calls a second over HTTP, %s, against jupyter-mcp-server", clientsInWords(crowd)),
			fmt.Sprintf("at least %d× as many", wantedPeerGain), factor(gain) + " as many", gain >= wantedPeerGain})
	}
	most := slices.Max(crowds)
	late := table{title: fmt.Sprintf("A call over the network, %s: 95 of 100 are faster", clientsInWords(most)), unit: seconds}
	for _, p := range parties {
		late.rows = append(late.rows, row{name: p.name, values: p.loads[most].late})
	}
	b.report.add(late)
	cost := inProcess.loads[most].rate.median() / ours.loads[most].rate.median()
	b.report.aim(atMost(fmt.Sprintf("a call over HTTP, %s, against FastMCP's `exec` in its own process", clientsInWords(most)), cost, wantedInProcess))
}

func clientsInWords(n int) string {
	if n == 1 {
		return "one client"
	}
	return fmt.Sprintf("%d clients", n)
}
