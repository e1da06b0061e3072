package traces

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

const httpProtobuf = "http/protobuf"

// settings are what the standard variables say of the endpoint. Those of sampling, of
// batches and of the resource are read by the SDK.
type settings struct {
	endpoint *url.URL
	header   http.Header
	protocol string // "" where none is named
	timeout  time.Duration
}

// read returns nil where nothing is to be sent. No error has a word of a value: an endpoint
// and headers may hold credentials.
func read() (*settings, error) {
	const prefix, traces = "OTEL_EXPORTER_OTLP_", "OTEL_EXPORTER_OTLP_TRACES_"
	name, whole := traces+"ENDPOINT", os.Getenv(traces+"ENDPOINT")
	base := os.Getenv(prefix + "ENDPOINT")
	if whole == "" && base == "" || strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") ||
		os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return nil, nil
	}
	if whole == "" {
		name, whole = prefix+"ENDPOINT", base
	}
	endpoint, err := url.Parse(whole)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, errors.New(name + " is no URL as http://localhost:4318")
	}
	if name == prefix+"ENDPOINT" {
		endpoint = endpoint.JoinPath("v1/traces")
	}
	either := func(end string) string { return cmp.Or(os.Getenv(traces+end), os.Getenv(prefix+end)) }
	header, err := parseHeaders(either("HEADERS"))
	if err != nil {
		return nil, err
	}
	s := &settings{endpoint: endpoint, header: header, protocol: either("PROTOCOL"), timeout: 10 * time.Second}
	if ms, err := strconv.Atoi(either("TIMEOUT")); err == nil && ms > 0 {
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	return s, nil
}

// parseHeaders reads name=value,name=value with values as in a URL.
func parseHeaders(text string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || err != nil || strings.TrimSpace(name) == "" {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not of the form name=value,name=value")
		}
		header.Set(strings.TrimSpace(name), value)
	}
	return header, nil
}

// Endpoint says where traces are sent, without credentials; "" for nowhere.
func Endpoint() (string, error) {
	s, err := read()
	if s == nil {
		return "", err
	}
	return s.endpoint.Scheme + "://" + s.endpoint.Host, nil
}
