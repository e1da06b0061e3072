package transport

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	strict "github.com/go-jose/go-jose/v4/json"
	"github.com/mark3labs/mcp-go/mcp"
)

// message is what the transport must know of a JSON-RPC message.
type message struct {
	ID     json.RawMessage // a string or a number; nil when there is none
	Method string
	Result json.RawMessage
	Error  json.RawMessage
	params json.RawMessage

	version      string // of the protocol, as its metadata say
	clientName   string // what the client calls itself there
	conversation string // to which of the client's it belongs, as they say
	trace        Trace  // the span that they name
	cancelled    string // the id of the request that a cancellation names
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// parse reads a message. What mcp-go could read in another way is an error. With
// an error the message still has its Result and Error, if it was read that far: an
// answer is not to be answered, however broken it is.
func parse(body []byte) (message, error) {
	if !json.Valid(body) {
		return message{}, errNoJSON
	}
	head, err := pick(body, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return message{}, err
	}
	m := message{
		ID: json.RawMessage(head["id"]), params: json.RawMessage(head["params"]),
		Result: json.RawMessage(head["result"]), Error: json.RawMessage(head["error"]),
	}
	if !isID(m.ID) {
		m.ID = nil
		return m, errBadID
	}
	if head["method"] != nil && json.Unmarshal(head["method"], &m.Method) != nil || m.Method == "" && !m.isAnswer() {
		return m, errNoMessage
	}
	return m, m.readParams()
}

// isID reports whether JSON-RPC and MCP take it for an id, or it is none at all. null
// is refused: mcp-go would take the request for a notification and never answer.
func isID(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

func (m *message) readParams() error {
	found, err := pick(m.params, "_meta", "requestId")
	if err != nil {
		return err
	}
	// Decoded as mcp-go does, so that both see the same era.
	var meta *mcp.Meta
	if found["_meta"] != nil && json.Unmarshal(found["_meta"], &meta) == nil {
		m.version = meta.ProtocolVersion()
		if info := meta.ClientInfo(); info != nil {
			m.clientName = info.Name
		}
		text := func(key string) string { // "" for what is none
			value, _ := meta.GetMetaField(key).(string)
			return value
		}
		for _, key := range conversationKeys {
			m.conversation = cmp.Or(text(key), m.conversation)
		}
		m.trace = Trace{text("traceparent"), text("tracestate")}
	}
	if m.Method == methodCancelled {
		m.cancelled = string(found["requestId"])
	}
	return nil
}

// progressToken is what notifications of its progress name; nil for none.
func (m message) progressToken() json.RawMessage {
	found, err := pick(m.params, "_meta")
	if err != nil {
		return nil
	}
	meta, err := pick(json.RawMessage(found["_meta"]), "progressToken")
	if err != nil || !isID(json.RawMessage(meta["progressToken"])) {
		return nil
	}
	return json.RawMessage(meta["progressToken"])
}

const methodInitialize = string(mcp.MethodInitialize)

const methodCancelled = string(mcp.MethodNotificationCancelled)

// isRequest reports whether the message wants an answer.
func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// isAnswer reports whether it answers a request of ours.
func (m message) isAnswer() bool { return m.Method == "" && len(m.ID) > 0 }

// isCancellation reports whether it cancels a request.
func (m message) isCancellation() bool { return m.Method == methodCancelled && !m.isRequest() }

// isListening reports whether it opens a stream of notifications, which lasts.
func (m message) isListening() bool {
	return m.isRequest() && m.Method == string(mcp.MethodSubscriptionsListen)
}

// aStream is what the GET of a stream of notifications counts as.
var aStream = message{ID: json.RawMessage("null"), Method: string(mcp.MethodSubscriptionsListen)}

// isModern reports whether it is of the era without sessions, as mcp-go decides.
func (m message) isModern(header http.Header) bool {
	return mcp.IsModernProtocol(m.version) || mcp.IsModernProtocol(header.Get(mcp.HeaderProtocolVersion))
}

// known are the methods that counters and logs may name: what a client makes
// up must not fill them.
var known = map[string]bool{
	string(mcp.MethodInitialize): true, string(mcp.MethodPing): true, methodCancelled: true,
	"notifications/initialized": true, "notifications/progress": true, "server/discover": true,
	string(mcp.MethodToolsList): true, string(mcp.MethodToolsCall): true,
	string(mcp.MethodResourcesList): true, string(mcp.MethodResourcesTemplatesList): true,
	string(mcp.MethodResourcesRead): true, "resources/subscribe": true, "resources/unsubscribe": true,
	string(mcp.MethodPromptsList): true, string(mcp.MethodPromptsGet): true,
	string(mcp.MethodSubscriptionsListen): true, "completion/complete": true, "logging/setLevel": true,
}

func isKnown(method string) bool { return known[method] }

// refuseMessage answers a request with an error of JSON-RPC and a status.
func refuseMessage(w http.ResponseWriter, id json.RawMessage, status int, text string) {
	refuseAs(w, id, status, codeRefused, text)
}

// refuseUnread answers what parse has refused.
func refuseUnread(w http.ResponseWriter, err error) {
	refuseAs(w, nil, http.StatusBadRequest, codeOf(err), err.Error())
}

// codeOf is what JSON-RPC calls an error of parse's.
func codeOf(err error) int {
	if errors.Is(err, errNoJSON) {
		return mcp.PARSE_ERROR
	}
	return mcp.INVALID_REQUEST
}

func refuseAs(w http.ResponseWriter, id json.RawMessage, status, code int, text string) {
	writeJSON(w, status, errorText(id, code, text))
}

func writeJSON(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may be gone
}

func busy(w http.ResponseWriter, m message, text string) {
	w.Header().Set("Retry-After", "5")
	refuseMessage(w, m.ID, http.StatusServiceUnavailable, text)
}

// stopping refuses what would begin while the server stops. Its connection is
// given up, so that the next attempt may reach another server behind the same
// address.
func stopping(w http.ResponseWriter, m message) {
	w.Header().Set("Connection", "close")
	busy(w, m, "the server is stopping")
}

// RefusalText is the error of JSON-RPC by which a request is refused.
func RefusalText(id json.RawMessage, text string) []byte { return errorText(id, codeRefused, text) }

// errorText is an error of JSON-RPC; without an id it is of null.
func errorText(id json.RawMessage, code int, text string) []byte {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": mcp.JSONRPC_VERSION, "id": id,
		"error": map[string]any{"code": code, "message": text},
	})
	if err != nil { // an id that was parsed, a number and a text always marshal
		panic(err)
	}
	return answer
}

// codeRefused is of the range that JSON-RPC leaves to servers.
const codeRefused = -32000

// encoding/json takes "Method" for "method" and the last of two fields of one
// name, so what one decoder sees of a message another may not. What we check
// must be what mcp-go then acts on: messages that can be read in two ways are
// refused.

var (
	errNoJSON    = errors.New("the message is not valid JSON")
	errNoMessage = errors.New("the message is not one of JSON-RPC: it needs a method, or the id of a request that it answers")
	errTwoWays   = errors.New("the message can be read in two ways: a name stands in it twice")
	errBadID     = errors.New("the id of a message must be a string or a number")
)

// pick returns the fields of a JSON object, which must be valid JSON; what is no object
// has none. One that is there twice is refused, or one that has one of the names in
// another case.
func pick(object json.RawMessage, names ...string) (map[string]part, error) {
	if !bytes.HasPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte("{")) {
		return nil, nil
	}
	var found map[string]part
	if err := strict.Unmarshal(object, &found); err != nil {
		return nil, errTwoWays // err has the whole name, which may be large
	}
	for key := range found {
		for _, name := range names {
			if key != name && strings.EqualFold(key, name) {
				return nil, fmt.Errorf("the field %q of the message is written otherwise", name)
			}
		}
	}
	return found, nil
}

// part is a value in a text of JSON: not copied, as a message may be large.
type part json.RawMessage

// UnmarshalJSON has the value be a part of the text that it is read from.
func (p *part) UnmarshalJSON(text []byte) error {
	*p = text
	return nil
}
