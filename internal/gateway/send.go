package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"time"

	"understudy/internal/auth"
	"understudy/internal/transport"
)

// podSilence is after how long without a sign of life a connection to a pod counts as
// broken: a node that is gone breaks none.
const podSilence = 25 * time.Second

// newPodTransport is how pods are reached. They keep idle connections open for 30 s.
func newPodTransport() *http.Transport {
	dialer := net.Dialer{Timeout: 3 * time.Second, Control: boundSilence(podSilence), KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3,
	}}
	return &http.Transport{
		DialContext: dialer.DialContext, MaxIdleConnsPerHost: 16, IdleConnTimeout: 20 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, DisableCompression: true,
	}
}

// parseToken reads the token of the gateway.
func parseToken(text []byte) (string, error) {
	token := strings.TrimSpace(string(text))
	if token == "" || strings.ContainsAny(token, " \r\n\t") {
		return "", errors.New("it must hold one token; understudy token gateway --for gateway makes one")
	}
	return token, nil
}

// passedOn are the headers of a client's that its pod gets, beside those of MCP.
var passedOn = []string{"Accept", "Content-Type", "Last-Event-Id", "Traceparent", "Tracestate"}

// send sends a client's request to its pod. An error that is errNotSent says that the pod
// has done nothing.
func (g *Gateway) send(ctx context.Context, c client, to claim, r *http.Request, f transport.Forwarded) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(to.address, strconv.Itoa(g.options.Port)), Path: r.URL.Path, RawQuery: r.URL.RawQuery}
	request, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(f.Body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "Mcp-") {
			request.Header[name] = values
		}
	}
	for _, name := range passedOn {
		if values := r.Header.Values(name); len(values) > 0 {
			request.Header[name] = values
		}
	}
	g.sign(request, c, to)
	connected := false
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected = true }})
	response, err := g.pods.RoundTrip(request.WithContext(traced))
	switch {
	case err != nil && !connected:
		return nil, fmt.Errorf("%w: %w", errNotSent, err)
	case err != nil:
		return nil, err
	case response.StatusCode == http.StatusMisdirectedRequest: // another client's pod has its address now
		_ = response.Body.Close()
		return nil, errOthers
	case response.StatusCode == http.StatusUnauthorized, response.StatusCode == http.StatusForbidden:
		_ = response.Body.Close()
		return nil, fmt.Errorf("%w: %s", errTrust, response.Status)
	}
	return response, nil
}

// sign says who sends a request, and for whom.
func (g *Gateway) sign(request *http.Request, c client, to claim) {
	set := request.Header.Set
	set("Authorization", "Bearer "+g.token.Get())
	set(auth.HeaderClient, url.PathEscape(c.principal))
	set(auth.HeaderClaim, string(to.uid))
	set(auth.HeaderLease, g.options.Lease.String())
	if to.instance != "" {
		set(auth.HeaderInstance, to.instance)
	}
	if c.session != "" {
		set(transport.HeaderSession, c.session)
	}
}

// longestInstance is how long a server's name may be, which the claim is to keep.
const longestInstance = 64

// note keeps which server has answered.
func (g *Gateway) note(by claim, response *http.Response) {
	instance := response.Header.Get(auth.HeaderInstance)
	if instance == "" || instance == by.instance || len(instance) > longestInstance {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), apiTime)
		defer cancel()
		g.claims.answered(ctx, by, instance)
	}()
}

// UsagePath is where a pod's server says whether it is needed.
const UsagePath = "/usage"

// Usage is what it says.
type Usage struct {
	Running int `json:"running"` // interpreters that run code, or that calls wait for
}

// isRunning asks a pod whether code runs in it.
func (g *Gateway) isRunning(ctx context.Context, in claim) bool {
	ctx, cancel := context.WithTimeout(ctx, apiTime)
	defer cancel()
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(in.address, strconv.Itoa(g.options.Port)), Path: UsagePath}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return false
	}
	request.Header.Set("Authorization", "Bearer "+g.token.Get())
	response, err := g.pods.RoundTrip(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	var usage Usage
	err = json.NewDecoder(io.LimitReader(response.Body, 1<<10)).Decode(&usage)
	return err == nil && response.StatusCode == http.StatusOK && usage.Running > 0
}
