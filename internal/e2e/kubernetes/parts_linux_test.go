package kubernetes

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	nodeName = "n1"
	plugins  = "/usr/lib/cni" // where Debian has those that connect pods
)

// part is a program of the cluster: API server, kubelet and so on.
type part struct {
	path    string // of the program
	args    []string
	log     string
	process *os.Process
	ended   chan struct{}
}

// start starts it. Nobody needs to stop it: it ends with process 1.
func (p *part) start() error {
	log, err := os.OpenFile(p.log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	p.process, p.ended = cmd.Process, ended
	return nil
}

// stop kills it and waits for its end.
func (p *part) stop() error {
	err := p.process.Kill()
	<-p.ended
	return err
}

// check fails once the part has ended.
func (p *part) check() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended; its log ends with\n%s", filepath.Base(p.log), lastLines(p.log))
	default:
		return nil
	}
}

func lastLines(file string) string {
	text, _ := os.ReadFile(file)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// partsOf returns the programs of the cluster by name, not started yet.
func partsOf(dir, programs string) map[string]*part {
	kubernetes := filepath.Join(programs, "testcluster")
	certificate := func(file string) string { return filepath.Join(dir, "certificates", file) }
	parts := map[string]*part{
		"containerd": {path: "containerd", args: []string{"--config", filepath.Join(dir, "configuration", "containerd.toml")}},
		"sandbox-controller": {path: filepath.Join(programs, "agent-sandbox-controller"), args: []string{
			"--kubeconfig", certificate("admin.kubeconfig"), "--extensions", "--leader-elect=false",
			"--enable-webhook=false", "--manage-webhook-certs=false", // the older version of its kinds isn't served here
			"--metrics-bind-address=127.0.0.1:18080", "--health-probe-bind-address=127.0.0.1:18081",
		}},
		"etcd": {path: kubernetes, args: []string{
			"etcd", "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
			"--listen-client-urls", etcdAddress, "--advertise-client-urls", etcdAddress,
			"--listen-peer-urls", "http://127.0.0.1:2380",
		}},
		"kube-apiserver": {path: kubernetes, args: []string{
			"kube-apiserver", "--etcd-servers", etcdAddress, "--cert-dir", filepath.Join(dir, "apiserver"),
			"--bind-address", "0.0.0.0", "--secure-port", "443", "--advertise-address", nodeAddress,
			"--endpoint-reconciler-type", "none", "--service-cluster-ip-range", "10.96.0.0/16",
			"--client-ca-file", certificate("ca.crt"),
			"--tls-cert-file", certificate("apiserver.crt"), "--tls-private-key-file", certificate("apiserver.key"),
			"--service-account-issuer", "https://kubernetes.default.svc",
			"--service-account-key-file", certificate("tokens.key"), "--service-account-signing-key-file", certificate("tokens.key"),
			"--kubelet-client-certificate", certificate("admin.crt"), "--kubelet-client-key", certificate("admin.key"),
			"--kubelet-preferred-address-types", "InternalIP",
			"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction",
		}},
		"kube-controller-manager": {path: kubernetes, args: []string{
			"kube-controller-manager", "--kubeconfig", certificate("controller-manager.kubeconfig"),
			"--leader-elect=false", "--bind-address", "127.0.0.1",
			"--use-service-account-credentials=true", // its own user lacks the rights
			"--service-account-private-key-file", certificate("tokens.key"), "--root-ca-file", certificate("ca.crt"),
			"--controllers", strings.Join(controllers, ","),
		}},
		"kube-scheduler": {path: kubernetes, args: []string{
			"kube-scheduler", "--kubeconfig", certificate("scheduler.kubeconfig"),
			"--leader-elect=false", "--bind-address", "127.0.0.1",
		}},
		"kubelet": {path: kubernetes, args: []string{
			"kubelet", "--config", filepath.Join(dir, "configuration", "kubelet.yaml"),
			"--kubeconfig", certificate("node.kubeconfig"), "--hostname-override", nodeName, "--node-ip", nodeAddress,
			"--root-dir", filepath.Join(dir, "kubelet"), "--cert-dir", filepath.Join(dir, "kubelet", "certificates"),
		}},
	}
	for name, part := range parts {
		part.log = filepath.Join(dir, "logs", name)
	}
	return parts
}

const etcdAddress = "http://127.0.0.1:2379"

// controllers are those that the tests need: service accounts, without which no
// pod is made; owners' ends; nodes' taints; and those of the manifests.
var controllers = []string{
	"serviceaccount-controller", "serviceaccount-token-controller", "root-ca-certificate-publisher-controller",
	"garbage-collector-controller", "namespace-controller", "node-lifecycle-controller", "pod-garbage-collector-controller",
	"deployment-controller", "replicaset-controller", "disruption-controller", "resourcequota-controller",
}

// until returns when something holds. Two minutes are far more than anything here takes, on a busy machine too.
func (c *cluster) until(what string, holds func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for {
		err := holds()
		if err == nil {
			return nil
		}
		for _, part := range c.parts {
			if part.process == nil {
				continue
			}
			if ended := part.check(); ended != nil {
				return fmt.Errorf("%s: %w", what, ended)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
