package transport

import (
	"encoding/json"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is what the transport must know of a JSON-RPC message.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`

	version   string // of the protocol, as its metadata say
	cancelled string // the id of the request that a cancellation names
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// parse reads a message. What is no message has no method: mcp-go says so.
func parse(body []byte) message {
	var m message
	if json.Unmarshal(body, &m) != nil {
		return message{}
	}
	if string(m.ID) == "null" { // as mcp-go sees it: no id at all
		m.ID = nil
	}
	// Decoded as mcp-go does, so that both see the same era.
	var wrapper struct {
		Params struct {
			Meta *mcp.Meta `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &wrapper) == nil {
		m.version = wrapper.Params.Meta.ProtocolVersion()
	}
	if m.Method == methodCancelled {
		var notification struct {
			Params struct {
				RequestID json.RawMessage `json:"requestId"`
			} `json:"params"`
		}
		if json.Unmarshal(body, &notification) == nil {
			m.cancelled = string(notification.Params.RequestID)
		}
	}
	return m
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
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client may be gone
		"jsonrpc": mcp.JSONRPC_VERSION, "id": id,
		"error": map[string]any{"code": codeRefused, "message": text},
	})
}

// codeRefused is of the range that JSON-RPC leaves to servers.
const codeRefused = -32000
