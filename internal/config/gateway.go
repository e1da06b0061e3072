package config

import (
	"errors"
	"slices"
	"time"
)

// Gateway are the settings of gateway: those of serve that say who listens for clients and
// who may come in, and its own.
type Gateway struct {
	Transport []string `type:"transports" default:"http,sse" placeholder:"NAME,…" group:"Protocol" help:"How clients connect: http (streamable HTTP at /mcp), sse (HTTP with SSE at /sse), or http,sse for both on one address."`

	Network `embed:""`

	Auth `embed:""`

	Pods `embed:""`
}

// Pods are the settings of which pods clients get, and for how long.
type Pods struct {
	Pool       string        `default:"understudy" placeholder:"NAME" group:"Gateway" help:"The SandboxWarmPool that pods are claimed from."`
	Namespace  string        `placeholder:"NAME" group:"Gateway" help:"The namespace of the pool and of the claims. Default: the gateway's own, or that of the kubeconfig."`
	Kubeconfig string        `type:"path" placeholder:"FILE" group:"Gateway" help:"How the cluster is reached. Default: as the pod that the gateway runs in, else KUBECONFIG or ~/.kube/config."`
	PodToken   string        `type:"path" placeholder:"FILE" group:"Gateway" help:"File with the token that the pods know the gateway by; \"understudy token gateway --for gateway\" makes it, and the line for the pods' --auth-tokens. It is read again when it changes."`
	PodPort    int           `least:"1" most:"65535" default:"8808" group:"Gateway" help:"The port at which a pod serves MCP."`
	PodPer     string        `enum:"principal,session" default:"principal" group:"Gateway" help:"Who gets a pod: ${enum}. principal: all that comes with one token, or with tokens of one user of the issuer, shares a pod; session: each MCP session of the older eras has its own, and each conversation that a request names; for a program that serves many people with one token."`
	Lease      time.Duration `default:"30m" group:"Gateway" help:"How long a pod lives after its client's last call, at the least; while calls are open or code runs it goes on. At its end the pod goes with everything in it."`
	ClaimWait  time.Duration `default:"45s" group:"Gateway" help:"How long a call waits for its pod before it is refused. Many clients give up after 60 seconds."`
}

// The values of Pods.PodPer.
const (
	PodPerPrincipal = "principal"
	PodPerSession   = "session"
)

// Has reports whether clients may connect by the named transport.
func (g Gateway) Has(transport string) bool { return slices.Contains(g.Transport, transport) }

// shortestLease leaves time for what renews leases, whose ends are whole seconds.
const shortestLease = 10 * time.Second

// Check reports settings that contradict each other or have no meaning.
func (g Gateway) Check() error {
	err := errors.Join(g.Network.check(g.Authenticates()), g.Auth.check(true))
	if g.Has(TransportStdio) {
		err = errors.Join(err, errors.New("transport: a gateway has many clients; write http, sse or http,sse"))
	}
	if g.PodToken == "" {
		err = errors.Join(err, errors.New("pod-token is missing: the file with the token that the pods know the gateway by; \"understudy token gateway --for gateway\" makes one"))
	}
	if g.PodPer == PodPerPrincipal && !g.Authenticates() {
		err = errors.Join(err, errors.New("pod-per is principal, and nobody authenticates; set up --auth-tokens or --auth-issuer, or say --pod-per session"))
	}
	if g.Lease < shortestLease {
		err = errors.Join(err, errors.New("lease must be 10 seconds at least"))
	}
	if g.ClaimWait <= 0 {
		err = errors.Join(err, errors.New("claim-wait must be more than 0"))
	}
	return err
}
