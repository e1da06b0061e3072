package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// protocolVersion is the newest era that all contenders speak.
const protocolVersion = "2025-11-25"

// remote is one client of a server on the network: the barest there is, so that
// little of what is measured is its own.
type remote interface {
	// exchange sends a request and returns the result of its response.
	exchange(ctx context.Context, id int, method string, params any) (json.RawMessage, error)
	notify(ctx context.Context, method string) error
	close()
}

// caller is a remote that makes one call at a time.
type caller struct {
	remote
	lastID int
	tool   string
	with   map[string]any
	// lost is what the server may say instead of what was printed; losses is how
	// often it did.
	lost   string
	losses int
}

// greet begins a conversation.
func (c *caller) greet(ctx context.Context) error {
	_, err := c.ask(ctx, "initialize", map[string]any{
		"protocolVersion": protocolVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "understudy-bench", "version": "1"},
	})
	if err != nil {
		return fmt.Errorf("greeting the server: %w", err)
	}
	return c.notify(ctx, "notifications/initialized")
}

func (c *caller) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	c.lastID++
	return c.exchange(ctx, c.lastID, method, params)
}

// run makes the call and checks that its answer has the wanted text in it.
func (c *caller) run(ctx context.Context, want string) (float64, error) {
	began := time.Now()
	result, err := c.ask(ctx, "tools/call", map[string]any{"name": c.tool, "arguments": c.with})
	took := time.Since(began).Seconds()
	switch {
	case err != nil || bytes.Contains(result, []byte(want)):
	case c.lost != "" && bytes.Contains(result, []byte(c.lost)):
		c.losses++
	default:
		err = fmt.Errorf("%v was answered %.2000s", c.with, result)
	}
	return took, err
}

// requestBody is a JSON-RPC message; one without an id is a notification.
func requestBody(id int, method string, params any) ([]byte, error) {
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if id > 0 {
		message["id"] = id
	}
	if params != nil {
		message["params"] = params
	}
	return json.Marshal(message)
}

// response reads a message, and reports whether it is that response.
func response(message []byte, id int) (json.RawMessage, bool, error) {
	var a answer
	if err := json.Unmarshal(message, &a); err != nil {
		return nil, false, fmt.Errorf("the server wrote %.200q: %w", message, err)
	}
	switch {
	case a.Method != "" || a.ID != id:
		return nil, false, nil
	case a.Error != nil:
		return nil, true, fmt.Errorf("the server refused: %s", a.Error)
	default:
		return a.Result, true, nil
	}
}

// streamable is a client of streamable HTTP, with a connection of its own.
type streamable struct {
	http    *http.Client
	url     string
	token   string // "" for none
	session string
}

func newStreamable(address, token string) remote {
	return &streamable{http: &http.Client{Transport: &http.Transport{DisableCompression: true}}, url: address, token: token}
}

// mark gives a request what says who sends it.
func (s *streamable) mark(request *http.Request) {
	if s.token != "" {
		request.Header.Set("Authorization", "token "+s.token)
	}
	if s.session != "" {
		request.Header.Set("Mcp-Session-Id", s.session)
		request.Header.Set("Mcp-Protocol-Version", protocolVersion)
	}
}

func (s *streamable) post(ctx context.Context, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	s.mark(request)
	answered, err := s.http.Do(request)
	if err == nil && answered.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(answered.Body, 2000))
		err = errors.Join(fmt.Errorf("%s: %s", answered.Status, text), answered.Body.Close())
	}
	return answered, err
}

func (s *streamable) exchange(ctx context.Context, id int, method string, params any) (json.RawMessage, error) {
	body, err := requestBody(id, method, params)
	if err != nil {
		return nil, err
	}
	answered, err := s.post(ctx, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answered.Body.Close() }()
	if session := answered.Header.Get("Mcp-Session-Id"); session != "" {
		s.session = session
	}
	text, err := io.ReadAll(answered.Body) // to its end, or the connection can't be used again
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(answered.Header.Get("Content-Type"), "text/event-stream") {
		result, found, err := response(text, id)
		if err == nil && !found {
			err = fmt.Errorf("request %d was answered %.200q", id, text)
		}
		return result, err
	}
	events := newEvents(bytes.NewReader(text))
	for {
		_, data, err := events.next()
		if err != nil {
			return nil, fmt.Errorf("request %d was not answered: %w", id, err)
		}
		if len(data) == 0 { // a priming event
			continue
		}
		if result, found, err := response(data, id); found || err != nil {
			return result, err
		}
	}
}

func (s *streamable) notify(ctx context.Context, method string) error {
	body, err := requestBody(0, method, nil)
	if err != nil {
		return err
	}
	answered, err := s.post(ctx, body)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, answered.Body) // so that the connection can be used again
	return errors.Join(err, answered.Body.Close())
}

// close says goodbye, so that the server need not keep the session.
func (s *streamable) close() {
	defer s.http.CloseIdleConnections()
	if s.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodDelete, s.url, nil)
	if err != nil {
		return
	}
	s.mark(request)
	if answered, err := s.http.Do(request); err == nil {
		_ = answered.Body.Close()
	}
}

// events reads a stream of server-sent events.
type events struct{ lines *bufio.Reader }

func newEvents(r io.Reader) events { return events{bufio.NewReaderSize(r, 1<<16)} }

// next returns the next event's name and data.
func (e events) next() (name string, data []byte, err error) {
	seen := false
	for {
		line, err := e.lines.ReadBytes('\n')
		if err != nil {
			return "", nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			if seen {
				return name, data, nil
			}
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name, seen = string(value), true
		case "data":
			data, seen = append(data, value...), true
		}
	}
}

// sse is a client of the older transport: requests are posted, answers come on
// one stream.
type sse struct {
	http   *http.Client
	stream io.Closer
	events events
	post   string
}

func newSSE(ctx context.Context, address string) (remote, error) {
	s := &sse{http: &http.Client{Transport: &http.Transport{DisableCompression: true}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	opened, err := s.http.Do(request) //nolint:bodyclose // close does, when the client leaves
	if err != nil {
		return nil, err
	}
	s.stream, s.events = opened.Body, newEvents(opened.Body)
	name, data, err := s.events.next()
	if err == nil && name != "endpoint" {
		err = fmt.Errorf("the stream begins with %s %.200q", name, data)
	}
	if err != nil {
		return nil, errors.Join(err, s.stream.Close())
	}
	base, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	target, err := base.Parse(string(data))
	if err != nil {
		return nil, err
	}
	s.post = target.String()
	return s, nil
}

func (s *sse) send(ctx context.Context, id int, method string, params any) error {
	body, err := requestBody(id, method, params)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.post, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	answered, err := s.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answered.Body.Close() }()
	text, err := io.ReadAll(answered.Body)
	if err == nil && answered.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.2000s", answered.Status, text)
	}
	return err
}

func (s *sse) exchange(ctx context.Context, id int, method string, params any) (json.RawMessage, error) {
	if err := s.send(ctx, id, method, params); err != nil {
		return nil, err
	}
	for {
		name, data, err := s.events.next()
		if err != nil {
			return nil, err
		}
		if name != "message" && name != "" || len(data) == 0 {
			continue
		}
		if result, found, err := response(data, id); found || err != nil {
			return result, err
		}
	}
}

func (s *sse) notify(ctx context.Context, method string) error { return s.send(ctx, 0, method, nil) }

func (s *sse) close() {
	_ = s.stream.Close()
	s.http.CloseIdleConnections()
}
