package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/phrase"
	"understudy/internal/transport"
)

// Why a request has no pod.
var (
	errFull     = errors.New("no further client is allowed in the cluster")
	errPool     = errors.New("the pool of pods can't be used")
	errCluster  = errors.New("the cluster's API does not answer")
	errNotReady = errors.New("the pod is not ready")
	errEnding   = errors.New("the client's last pod is still being removed")
	errNotSent  = errors.New("the pod takes no requests")
	errOthers   = fmt.Errorf("%w: it belongs to another claim", errNotSent)
	errTrust    = errors.New("the pod does not know the gateway")
	errStopping = errors.New("the gateway is stopping")
	errLost     = errors.New("the pod is gone")
)

// nothingRan ends what is said where nothing was sent to a pod.
const nothingRan = "Nothing was run."

// sentence says to a client's model, or its user, why there is no answer, and what to do.
// Waited is how long the request has waited, or run.
func sentence(err error, waited time.Duration) string {
	after := phrase.Duration(waited)
	switch {
	case errors.Is(err, errStopping) && isUnsent(err):
		return "This server is stopping. " + nothingRan + " Try again: another one answers."
	case errors.Is(err, errStopping):
		return fmt.Sprintf("This server is stopping, and your pod had not answered after %s. Whether the code came to its end is not known; "+
			"look with manage_interpreters, operation \"list\", before you run it again.", after)
	case errors.Is(err, errLarge):
		return "What your pod answered is too large to be passed on, or others were answered too much at the same time. Ask for less at once."
	case errors.Is(err, errNoClaim):
		return "there is no such session: its pod has ended, with its interpreters, variables and files; initialize a new one"
	case errors.Is(err, errFull):
		return "No further client is allowed in the cluster at the moment. " + nothingRan + " Try again when others have ended."
	case errors.Is(err, errPool):
		return fmt.Sprintf("There is no pod for you: %v. %s Only the operator of this server can mend that.", err, nothingRan)
	case errors.Is(err, errTrust):
		return "Your pod does not take requests of this gateway: their tokens differ. " + nothingRan + " Only the operator of this server can mend that."
	case errors.Is(err, errCluster):
		return fmt.Sprintf("The cluster that would find you your pod, or give you one, has not answered for %s. %s Try again in a minute.", after, nothingRan)
	case errors.Is(err, errNotSent):
		return fmt.Sprintf("Your pod has taken no request for %s; it may be starting again, or gone. %s Try again.", after, nothingRan)
	case errors.Is(err, errNotReady), errors.Is(err, errEnding):
		return fmt.Sprintf("No pod became free for you in %s (%v). %s Try again in a minute: what waits keeps its place for that long.", after, err, nothingRan)
	case errors.Is(err, errLost):
		return fmt.Sprintf("The pod that ran this was lost after %s: it was deleted, or its node failed. Whether the code came to its end is not known; "+
			"your interpreters, variables and files are gone, and the next call gets a new pod.", after)
	}
	return fmt.Sprintf("The connection to your pod broke after %s. Whether the code came to its end is not known; "+
		"look with manage_interpreters, operation \"list\", before you run it again.", after)
}

// isUnsent reports whether no pod got the request.
func isUnsent(err error) bool {
	for _, why := range []error{errFull, errPool, errCluster, errNotReady, errNotSent, errEnding} {
		if errors.Is(err, why) {
			return true
		}
	}
	return false
}

// status is what an answer without a pod has.
func status(err error) int {
	switch {
	case errors.Is(err, errNoClaim):
		return http.StatusNotFound
	case errors.Is(err, errLost), errors.Is(err, errTrust), errors.Is(err, errLarge):
		return http.StatusBadGateway
	}
	return http.StatusServiceUnavailable
}

// answerOf is a message that answers a request with text: the result of a tool, as a model
// reads that, else an error.
func answerOf(id json.RawMessage, method, version, text string) []byte {
	if method != string(mcp.MethodToolsCall) {
		return transport.RefusalText(id, text)
	}
	result := mcp.NewToolResultError(text)
	if mcp.IsModernProtocol(version) {
		result.ResultType = mcp.ResultTypeComplete
	}
	answer, err := json.Marshal(mcp.JSONRPCResponse{JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(id), Result: result})
	if err != nil { // of an id that was read, and a text
		panic(err)
	}
	return answer
}
