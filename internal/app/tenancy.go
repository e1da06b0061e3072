package app

import (
	"encoding/json"
	"net/http"

	"understudy/internal/phrase"
)

// Usage is what a gateway asks a server for, to know whether it is needed.
type Usage struct {
	Interpreters int `json:"interpreters"`
	Running      int `json:"running"` // those that run code, or that calls wait for
}

// tellUsage answers a gateway.
func (a *App) tellUsage(w http.ResponseWriter, _ *http.Request) {
	interpreters, running := a.manager.Usage()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Usage{interpreters, running}) // who has left gets nothing
}

// tenancy says whose this server is, where a gateway has given it to a client.
func (a *App) tenancy() (introduction, lost string) {
	tenant := a.tenant.Load()
	if tenant == nil {
		return "", ""
	}
	lease, replaced := tenant.Lease()
	if lease == 0 {
		return "", ""
	}
	introduction = "this pod is yours alone; it ends, with its variables and files, " + phrase.Duration(lease) + " after your last call"
	if replaced {
		lost = "the pod that you had before is gone, with its interpreters, variables and files"
		introduction = lost + "; " + introduction
	}
	return introduction, lost
}
