package app

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"understudy/internal/config"
	"understudy/internal/gateway"
	"understudy/internal/metrics"
	"understudy/internal/traces"
	"understudy/internal/transport"
)

// Gateway is the command gateway: MCP over HTTP, answered by pods of the clients' own.
func Gateway(ctx context.Context, c *config.Config, log *slog.Logger) error {
	s := c.Gateway
	network, err := openNetwork(s.Network, s.Auth, log)
	if err != nil {
		return err
	}
	defer network.close()
	g, err := gateway.New(gateway.Options{
		Kubeconfig: s.Kubeconfig, Namespace: s.Namespace, Pool: s.Pool, TokenFile: s.PodToken, Port: s.PodPort,
		PerSession: s.PodPer == config.PodPerSession, Lease: s.Lease, ClaimWait: s.ClaimWait, Logger: log,
	})
	if err != nil {
		return err
	}
	work := newBackground()
	work.Go(g.Run)
	defer work.stop()

	w := watched{g, metrics.New(metrics.Options{Version: Version(), Logger: log, Also: []prometheus.Collector{g}}), log}
	to := transport.Forwarder(g)
	if tracer := traces.Open(Version(), log); tracer != nil {
		defer tracer.Close()
		to = tracedForwarder{g, tracer}
	}
	options := network.options(s.Transport, w, to)
	options.Interrupt = g.Interrupt
	defer network.watch(w)()
	log.Info("serving MCP as a gateway", "transport", s.Transport, "version", Version())
	return transport.NewHTTP(nil, options).Serve(ctx, network.listener)
}
