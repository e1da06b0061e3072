package kubernetes

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"text/template"
	"time"

	"go.yaml.in/yaml/v3"
)

// cluster is Kubernetes of one node. All tests share one: they keep apart by
// namespaces, and none runs beside another that stops a part.
type cluster struct {
	dir        string // of this run
	programs   string
	kubeconfig string // the administrator's
	identities *authority
	http       *http.Client // the administrator
	parts      map[string]*part
	thin, full func() error // load an image, once
}

// startCluster returns the cluster, with its node ready. The first test starts it,
// and it ends with the last.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv(programsName) == "" {
		t.Skip(`needs Kubernetes, which has to be built; run "make kubernetes"`)
	}
	c, err := theCluster()
	must(t, err)
	return c
}

var theCluster = sync.OnceValues(func() (*cluster, error) {
	c := &cluster{dir: os.Getenv(runName), programs: os.Getenv(programsName)}
	c.parts = partsOf(c.dir, c.programs)
	c.thin, c.full = sync.OnceValue(c.importThin), sync.OnceValue(c.importFull)
	if err := os.MkdirAll(filepath.Join(c.dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	begun := time.Now()
	for _, step := range []func() error{
		c.identify, c.configure,
		c.starting("containerd", "etcd", "kube-apiserver"), c.importPause, c.awaitAPIServer,
		// Before the controllers: the sandboxes' exits if its kinds aren't served, and the
		// garbage collector would see them later, which costs the first deletion 19 seconds.
		c.addSandboxKinds,
		c.starting("sandbox-controller", "kube-controller-manager", "kube-scheduler", "kubelet"), c.awaitNode,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("starting the cluster: %w", err)
		}
	}
	fmt.Printf("the node was ready after %.1f s\n", time.Since(begun).Seconds())
	return c, nil
})

func (c *cluster) starting(names ...string) func() error {
	return func() error {
		for _, name := range names {
			if err := c.parts[name].start(); err != nil {
				return err
			}
		}
		return nil
	}
}

// identify makes the certificates and a client that is the administrator.
func (c *cluster) identify() (err error) {
	if c.identities, err = newAuthority(filepath.Join(c.dir, "certificates")); err != nil {
		return err
	}
	if err := c.identities.issueAll(); err != nil {
		return err
	}
	c.kubeconfig = c.identities.path("admin.kubeconfig")
	pair, err := tls.LoadX509KeyPair(c.identities.path("admin.crt"), c.identities.path("admin.key"))
	if err != nil {
		return err
	}
	known, err := os.ReadFile(c.identities.path("ca.crt"))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(known)
	c.http = &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: pool},
	}}
	return err
}

// configure writes the configuration of the parts.
func (c *cluster) configure() error {
	values := map[string]string{"Dir": c.dir, "PauseImage": pauseImage, "Plugins": plugins, "NodeAddress": nodeAddress}
	for file, place := range map[string]string{
		"containerd.toml": "containerd.toml", "kubelet.yaml": "kubelet.yaml", "network.conflist": "cni/10-network.conflist",
	} {
		text, err := fill(filepath.Join("testdata", file), values)
		if err != nil {
			return err
		}
		path := filepath.Join(c.dir, "configuration", place)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, text, 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// fill returns a file's text with values in their places.
func fill(file string, values any) ([]byte, error) {
	sheet, err := template.New(filepath.Base(file)).Option("missingkey=error").ParseFiles(file)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = sheet.Execute(&text, values)
	return text.Bytes(), err
}

func (c *cluster) awaitAPIServer() error {
	return c.until("the API server is not ready", func() error { return c.ask("GET", "/readyz", nil, nil) })
}

// awaitNode waits until the node is ready and may have pods.
func (c *cluster) awaitNode() error {
	return c.until("the node is not ready", func() error {
		var node struct {
			Spec   struct{ Taints []any }
			Status struct{ Conditions []condition }
		}
		if err := c.ask("GET", "/api/v1/nodes/"+nodeName, nil, &node); err != nil {
			return err
		}
		if !isTrue(node.Status.Conditions, "Ready") || len(node.Spec.Taints) > 0 {
			return fmt.Errorf("it says %+v", node)
		}
		return nil
	})
}

// addSandboxKinds has the API server know the kinds of agent-sandbox.
func (c *cluster) addSandboxKinds() error {
	files, _ := filepath.Glob(filepath.Join(c.programs, "crds", "*.yaml"))
	if len(files) == 0 {
		return fmt.Errorf("there is no definition of a kind in %s", filepath.Join(c.programs, "crds"))
	}
	for _, file := range files {
		if err := c.addKind(file); err != nil {
			return err
		}
	}
	return c.until("the kinds of agent-sandbox are not served", func() error {
		var kinds struct {
			Items []struct {
				Status struct{ Conditions []condition }
			}
		}
		err := c.ask("GET", kindsPath, nil, &kinds)
		for _, kind := range kinds.Items {
			if !isTrue(kind.Status.Conditions, "Established") {
				return fmt.Errorf("one says %+v", kind.Status.Conditions)
			}
		}
		return err
	})
}

const kindsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// addKind adds a kind in the version that is stored and no other: others would be
// converted by a service of the controller's.
func (c *cluster) addKind(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var kind map[string]any
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return err
	}
	spec, _ := kind["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	delete(spec, "conversion")
	spec["versions"] = slices.DeleteFunc(versions, func(version any) bool {
		return version.(map[string]any)["storage"] != true
	})
	return c.ask("POST", kindsPath, kind, nil)
}

// condition is how an object of the API says how it is.
type condition struct{ Type, Status, Reason, Message string }

func isTrue(conditions []condition, kind string) bool {
	for _, c := range conditions {
		if c.Type == kind {
			return c.Status == "True"
		}
	}
	return false
}

// ask sends a request to the API server as an administrator and decodes its answer.
// A PATCH is a merge.
func (c *cluster) ask(method, path string, body, answer any) error {
	var content io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, "https://"+serviceAddress+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	said, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %s", method, path, response.Status, said)
	}
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(said, answer)
}
