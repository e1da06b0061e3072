package transport

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what the transport must know of a JSON-RPC message.
type message struct {
	ID     json.RawMessage // a string or a number; nil when there is none
	Method string
	Result json.RawMessage
	Error  json.RawMessage

	version   string // of the protocol, as its metadata say
	cancelled string // the id of the request that a cancellation names
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// parse reads a message. What mcp-go could read in another way is an error.
func parse(body []byte) (message, error) {
	if !json.Valid(body) {
		return message{}, errNoJSON
	}
	head, err := pick(body, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return message{}, err
	}
	m := message{ID: head["id"], Result: head["result"], Error: head["error"]}
	if string(m.ID) == "null" { // as mcp-go sees it: no id at all
		m.ID = nil
	}
	if !isID(m.ID) || head["method"] != nil && json.Unmarshal(head["method"], &m.Method) != nil {
		return message{}, errNoMessage
	}
	if m.Method == "" && !m.isAnswer() {
		return message{}, errNoMessage
	}
	return m, m.readParams(head["params"])
}

func isID(id json.RawMessage) bool {
	return len(id) == 0 || id[0] == '"' || id[0] == '-' || id[0] >= '0' && id[0] <= '9'
}

func (m *message) readParams(params json.RawMessage) error {
	found, err := pick(params, "_meta", "requestId")
	if err != nil {
		return err
	}
	// Decoded as mcp-go does, so that both see the same era.
	var meta *mcp.Meta
	if found["_meta"] != nil && json.Unmarshal(found["_meta"], &meta) == nil {
		m.version = meta.ProtocolVersion()
	}
	if m.Method == methodCancelled {
		m.cancelled = string(found["requestId"])
	}
	return nil
}

const methodCancelled = string(mcp.MethodNotificationCancelled)

// isRequest reports whether the message wants an answer.
func (m message) isRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// isAnswer reports whether it answers a request of ours.
func (m message) isAnswer() bool { return m.Method == "" && len(m.ID) > 0 }

// isListening reports whether it opens a stream of notifications, which lasts.
func (m message) isListening() bool {
	return m.isRequest() && m.Method == string(mcp.MethodSubscriptionsListen)
}

// isModern reports whether it is of the era without sessions, as mcp-go decides.
func (m message) isModern(header http.Header) bool {
	return mcp.IsModernProtocol(m.version) || isModern(header)
}

func isModern(header http.Header) bool {
	return mcp.IsModernProtocol(header.Get(mcp.HeaderProtocolVersion))
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
	code := mcp.INVALID_REQUEST
	if errors.Is(err, errNoJSON) {
		code = mcp.PARSE_ERROR
	}
	refuseAs(w, nil, http.StatusBadRequest, code, err.Error())
}

func refuseAs(w http.ResponseWriter, id json.RawMessage, status, code int, text string) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"jsonrpc": mcp.JSONRPC_VERSION, "id": id,
		"error": map[string]any{"code": code, "message": text},
	})
}

// codeRefused is of the range that JSON-RPC leaves to servers.
const codeRefused = -32000
