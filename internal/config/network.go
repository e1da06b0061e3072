package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The values of Serve.Transport.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
	TransportSSE   = "sse"
)

// decodeTransports takes the names of transports, separated by commas.
func decodeTransports(ctx *kong.DecodeContext, target reflect.Value) error {
	text, err := popText(ctx)
	if err != nil {
		return err
	}
	transports, err := parseTransports(text)
	if err != nil {
		return err
	}
	target.Set(reflect.ValueOf(transports))
	return nil
}

func parseTransports(text string) ([]string, error) {
	var transports []string
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains([]string{TransportStdio, TransportHTTP, TransportSSE}, name) {
			return nil, fmt.Errorf("%q is no transport; write stdio, http, sse or http,sse", name)
		}
		if !slices.Contains(transports, name) {
			transports = append(transports, name)
		}
	}
	if len(transports) > 1 && slices.Contains(transports, TransportStdio) {
		return nil, errors.New("stdio serves one client and stands alone; write stdio, http, sse or http,sse")
	}
	return transports, nil
}

// OverNetwork reports whether clients connect by HTTP or SSE.
func (s Serve) OverNetwork() bool { return !slices.Contains(s.Transport, TransportStdio) }
