package auth

import (
	"encoding/json"
	"net/http"
	"strings"
)

// MetadataPath is where a protected resource says who issues its tokens (RFC
// 9728). A resource with a path has its own below it.
const MetadataPath = "/.well-known/oauth-protected-resource"

// resources are the paths of ours that clients know as servers, and what
// belongs to each.
var resources = map[string]string{"/mcp": "/mcp", "/sse": "/sse", "/message": "/sse"}

// Metadata answers at MetadataPath, and below it for each path that is a server
// to clients, which are given: "/mcp", "/sse". At MetadataPath itself it speaks
// for the first of them.
func (r *Resource) Metadata(served []string) map[string]http.Handler {
	routes := map[string]http.Handler{MetadataPath: r.metadataOf(served[0])}
	for _, path := range served {
		routes[MetadataPath+path] = r.metadataOf(path)
	}
	return routes
}

func (r *Resource) metadataOf(path string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.Method != http.MethodGet && request.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "only GET is possible here", http.StatusMethodNotAllowed)
			return
		}
		document := struct {
			Resource             string   `json:"resource"`
			AuthorizationServers []string `json:"authorization_servers"`
			Scopes               []string `json:"scopes_supported,omitempty"`
			Methods              []string `json:"bearer_methods_supported"`
			Name                 string   `json:"resource_name"`
		}{r.origin(request) + path, []string{r.options.Issuer}, r.options.Scopes, []string{"header"}, "understudy"}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "max-age=300")
		_ = json.NewEncoder(w).Encode(document) // a client that has left gets nothing
	})
}

// metadataURL is where the client of a refused request finds the metadata.
func (r *Resource) metadataURL(request *http.Request) string {
	return r.origin(request) + MetadataPath + resources[request.URL.Path]
}

// origin is how clients reach this server. Behind a proxy that ends TLS only
// the operator knows.
func (r *Resource) origin(request *http.Request) string {
	if r.options.PublicURL != "" {
		return strings.TrimRight(r.options.PublicURL, "/")
	}
	scheme := "http"
	if request.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + request.Host
}
