package traces

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// sender is an otlptrace.Client, which posts spans over HTTP. The SDK's own has gRPC in
// its imports, for one message that is the same as TracesData on the wire.
type sender struct {
	settings *settings
	client   *http.Client
}

func newSender(s *settings) *sender {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &sender{settings: s, client: &http.Client{
		Transport: transport,
		Timeout:   s.timeout,
		// Headers with credentials are for the endpoint alone.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start has nothing to do: connections are made as spans come.
func (s *sender) Start(context.Context) error { return nil }

// Stop closes the connections.
func (s *sender) Stop(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

// UploadTraces posts spans once: those that the endpoint doesn't take are lost.
func (s *sender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	const most = 64 << 10 // bytes of an answer that are read, so that the connection is used again
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = s.settings.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	response, err := s.client.Do(request)
	if err != nil {
		var withURL *url.Error // may have a key in its query
		if errors.As(err, &withURL) {
			err = withURL.Err
		}
		return fmt.Errorf("the endpoint %s could not be reached: %w", s.settings.endpoint.Host, err)
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.CopyN(io.Discard, response.Body, most)
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the endpoint %s answered %s", s.settings.endpoint.Host, response.Status)
	}
	return nil
}
