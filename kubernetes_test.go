package main

import (
	"cmp"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"understudy/internal/gateway"
)

const manifestFolder = "deploy/kubernetes"

// sandboxTemplate and warmPool have the keys of agent-sandbox's kinds that are used.
type sandboxTemplate struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta
	Spec     struct {
		Service                 *bool
		NetworkPolicyManagement string
		PodTemplate             corev1.PodTemplateSpec
	}
}

type warmPool struct {
	metav1.TypeMeta
	Metadata metav1.ObjectMeta
	Spec     struct {
		Replicas           int
		UpdateStrategy     struct{ Type string }
		SandboxTemplateRef struct{ Name string }
	}
}

// kinds make an empty object of each kind that is in the manifests.
var kinds = map[string]func() any{
	"Namespace":           func() any { return &corev1.Namespace{} },
	"ResourceQuota":       func() any { return &corev1.ResourceQuota{} },
	"ServiceAccount":      func() any { return &corev1.ServiceAccount{} },
	"Service":             func() any { return &corev1.Service{} },
	"Role":                func() any { return &rbacv1.Role{} },
	"RoleBinding":         func() any { return &rbacv1.RoleBinding{} },
	"Deployment":          func() any { return &appsv1.Deployment{} },
	"PodDisruptionBudget": func() any { return &policyv1.PodDisruptionBudget{} },
	"NetworkPolicy":       func() any { return &networkingv1.NetworkPolicy{} },
	"SandboxTemplate":     func() any { return &sandboxTemplate{} },
	"SandboxWarmPool":     func() any { return &warmPool{} },
}

// manifests are the objects that kubectl would apply, decoded strictly: a key that is
// misspelt or in the wrong place is an error.
func manifests(t *testing.T) (all []any) {
	t.Helper()
	var list struct {
		metav1.TypeMeta
		Namespace string
		Resources []string
	}
	must(t, yaml.UnmarshalStrict([]byte(readFile(t, filepath.Join(manifestFolder, "kustomization.yaml"))), &list))
	files, err := filepath.Glob(filepath.Join(manifestFolder, "*.yaml"))
	must(t, err)
	expect(t, len(files) == len(list.Resources)+1, "%v of %v are applied", list.Resources, files)
	for _, file := range list.Resources {
		for _, text := range strings.Split(readFile(t, filepath.Join(manifestFolder, file)), "\n---\n") {
			var head metav1.TypeMeta
			must(t, yaml.Unmarshal([]byte(text), &head))
			create := kinds[head.Kind]
			insist(t, create != nil, "%s: the test doesn't know the kind %q", file, head.Kind)
			object := create()
			err := yaml.UnmarshalStrict([]byte(text), object)
			insist(t, err == nil, "%s: %s: %v", file, head.Kind, err)
			all = append(all, object)
		}
	}
	return all
}

// of returns the objects of a kind.
func of[T any](all []any) (found []*T) {
	for _, object := range all {
		if one, is := object.(*T); is {
			found = append(found, one)
		}
	}
	return found
}

// podsOf returns the gateway's pod and that of a client.
func podsOf(t *testing.T, all []any) (gateway, session corev1.PodTemplateSpec) {
	t.Helper()
	deployments, templates := of[appsv1.Deployment](all), of[sandboxTemplate](all)
	insist(t, len(deployments) == 1 && len(templates) == 1, "%d deployments, %d templates", len(deployments), len(templates))
	return deployments[0].Spec.Template, templates[0].Spec.PodTemplate
}

// environment is what a container's program finds: the image's variables and its own.
func environment(t *testing.T, container corev1.Container) map[string]string {
	t.Helper()
	env := maps.Clone(dockerfile(t).env)
	for _, variable := range container.Env {
		env[variable.Name] = variable.Value
	}
	return env
}

// TestManifests: the pods start what this version understands, find the files that they
// are told of, and have time to stop.
func TestManifests(t *testing.T) {
	gateway, session := podsOf(t, manifests(t))
	for _, pod := range []corev1.PodTemplateSpec{gateway, session} {
		insist(t, len(pod.Spec.Containers) == 1, "%d containers", len(pod.Spec.Containers))
		container := pod.Spec.Containers[0]
		t.Run(container.Name, func(t *testing.T) {
			env := environment(t, container)
			checkSettings(t, env)
			c, err := parseCommand(strings.Join(container.Args, " "), env)
			must(t, err)
			who, grace := c.Serve.Auth, c.Serve.StopGrace
			if c.Command == "gateway" {
				who, grace = c.Gateway.Auth, c.Gateway.StopGrace
			}
			expect(t, who.Authenticates() && slices.Contains(container.Args, c.Command), "%s serves everybody: %v", c.Command, env)
			expect(t, container.Image == "understudy", "the image is %s: overlays look for understudy", container.Image)
			for name, value := range env {
				if strings.HasPrefix(value, "/etc/") {
					expect(t, mounted(pod.Spec, value), "%s is %s, which is not mounted", name, value)
				}
			}
			if hook := container.Lifecycle; hook != nil {
				grace += time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
			}
			has := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
			expect(t, has >= grace+10*time.Second, "it has %s to stop, and needs %s and some", has, grace)
			isRestricted(t, pod.Spec)
		})
	}
}

// mounted reports whether a pod has a Secret's key at a path.
func mounted(pod corev1.PodSpec, path string) bool {
	dir, file := filepath.Split(path)
	for _, mount := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if mount.MountPath != filepath.Clean(dir) || i < 0 || pod.Volumes[i].Secret == nil {
			continue
		}
		items := pod.Volumes[i].Secret.Items
		return items == nil || slices.ContainsFunc(items, func(k corev1.KeyToPath) bool { return k.Path == file })
	}
	return false
}

// isRestricted checks what Pod Security calls restricted, and that nothing can be written
// but volumes of a limited size.
func isRestricted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	user, container := pod.SecurityContext, pod.Containers[0]
	own := container.SecurityContext
	expect(t, *user.RunAsNonRoot && strconv.FormatInt(*user.RunAsUser, 10) == dockerfile(t).user, "it runs as %v", user)
	expect(t, user.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "seccomp is %v", user.SeccompProfile)
	expect(t, !*own.AllowPrivilegeEscalation && *own.ReadOnlyRootFilesystem, "it may %v", own)
	expect(t, slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}) && own.Capabilities.Add == nil, "it has %v", own.Capabilities)
	expect(t, !container.Resources.Limits.Memory().IsZero(), "its memory has no limit")
	for _, volume := range pod.Volumes {
		expect(t, volume.Secret != nil || volume.EmptyDir != nil && volume.EmptyDir.SizeLimit != nil, "%s is no Secret and no directory of a limited size", volume.Name)
	}
}

// TestSessionsFitTheirVolume: interpreters come to the limits of understudy, which says
// so, before the kubelet evicts the pod.
func TestSessionsFitTheirVolume(t *testing.T) {
	all := manifests(t)
	_, session := podsOf(t, all)
	c, err := parseCommand("serve", environment(t, session.Spec.Containers[0]))
	must(t, err)
	needed := int64(c.Serve.MaxSessions)*c.Serve.DiskLimit + c.Serve.JournalSize
	i := slices.IndexFunc(session.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "data" })
	size := session.Spec.Volumes[i].EmptyDir.SizeLimit.Value()
	expect(t, size > needed, "interpreters and journal may write %d bytes, and the volume holds %d", needed, size)
	pools := of[warmPool](all)
	expect(t, pools[0].Spec.SandboxTemplateRef.Name == of[sandboxTemplate](all)[0].Metadata.Name, "the pool has another template")
	expect(t, !*session.Spec.AutomountServiceAccountToken, "code could find the token of a service account")
}

// TestSelectors: each selector finds the pods that it is for, and no others.
func TestSelectors(t *testing.T) {
	all := manifests(t)
	gateway, session := podsOf(t, all)
	pods := map[string]labels.Set{"understudy-gateway": gateway.Labels, "understudy-session": session.Labels}
	selectors := map[string][]*metav1.LabelSelector{}
	for _, one := range of[policyv1.PodDisruptionBudget](all) {
		selectors[one.Name] = append(selectors[one.Name], one.Spec.Selector)
	}
	for _, one := range of[networkingv1.NetworkPolicy](all) {
		selectors[one.Name] = append(selectors[one.Name], &one.Spec.PodSelector)
		expect(t, len(one.Spec.PolicyTypes) == 2, "%s leaves a direction open", one.Name)
	}
	service := of[corev1.Service](all)[0]
	selectors["understudy-gateway"] = append(selectors["understudy-gateway"], &metav1.LabelSelector{MatchLabels: service.Spec.Selector})
	for name, list := range selectors {
		expect(t, pods[name] != nil && len(list) >= 2, "%d selectors for %s", len(list), name)
		for _, one := range list {
			selector, err := metav1.LabelSelectorAsSelector(one)
			must(t, err)
			for pod, has := range pods {
				expect(t, selector.Matches(has) == (pod == name), "%s for %s, and pods of %s", one, name, pod)
			}
		}
	}
}

// TestGatewayRights: the gateway may do with claims what it does, and nothing else.
func TestGatewayRights(t *testing.T) {
	all := manifests(t)
	rules := of[rbacv1.Role](all)[0].Rules
	insist(t, len(rules) == 1, "%v", rules)
	slices.Sort(rules[0].Verbs)
	expect(t, slices.Equal(rules[0].Resources, []string{"sandboxclaims"}) &&
		slices.Equal(rules[0].Verbs, []string{"create", "delete", "get", "list", "patch", "watch"}), "%v", rules[0])
	binding, gateway := of[rbacv1.RoleBinding](all)[0], of[appsv1.Deployment](all)[0]
	account := cmp.Or(gateway.Spec.Template.Spec.ServiceAccountName, "default")
	expect(t, binding.RoleRef.Name == of[rbacv1.Role](all)[0].Name && binding.Subjects[0].Name == account, "%v", binding)
}

// overlay is what docs/kubernetes.md says of a cluster.
type overlay struct {
	Resources        []string
	Namespace        string
	Images           []struct{ Name, NewName, NewTag string }
	GeneratorOptions struct{ DisableNameSuffixHash bool }
	SecretGenerator  []struct {
		Name  string
		Files []string
	}
}

// TestKubernetesPageIsTrue: the commands of docs/kubernetes.md make the files of which its
// overlay makes the Secrets that the pods mount.
func TestKubernetesPageIsTrue(t *testing.T) {
	const page = "docs/kubernetes.md"
	found := blocks(t, page)
	insist(t, len(found["yaml"]) == 1 && len(found["sh-kubernetes"]) == 1, "%v", found)
	made := map[string]bool{}
	for command := range strings.SplitSeq(strings.ReplaceAll(found["sh-kubernetes"][0], "&&", "\n"), "\n") {
		line, ours := strings.CutPrefix(strings.TrimSpace(command), "understudy ")
		if !ours {
			continue
		}
		line, token, _ := strings.Cut(line, " >")
		c, err := parseCommand(line, nil)
		must(t, err)
		made[token], made[filepath.Base(c.Token.AddTo)] = true, true
	}
	var shown overlay
	must(t, yaml.UnmarshalStrict([]byte(found["yaml"][0]), &shown))
	expect(t, shown.Images[0].Name == "understudy", "the image's name is another: %v", shown.Images)
	keys := map[string][]string{} // by Secret
	for _, secret := range shown.SecretGenerator {
		for _, entry := range secret.Files {
			key, file, named := strings.Cut(entry, "=")
			if !named {
				file = key
			}
			expect(t, made[file], "no command makes %s: %v", file, made)
			keys[secret.Name] = append(keys[secret.Name], key)
		}
	}
	gateway, session := podsOf(t, manifests(t))
	for _, volume := range append(gateway.Spec.Volumes, session.Spec.Volumes...) {
		if volume.Secret == nil {
			continue
		}
		expect(t, keys[volume.Secret.SecretName] != nil, "nothing makes the Secret %s", volume.Secret.SecretName)
		for _, item := range volume.Secret.Items {
			expect(t, slices.Contains(keys[volume.Secret.SecretName], item.Key), "%s lacks the key %s", volume.Secret.SecretName, item.Key)
		}
	}
	checkFlags(t, page)
}

// TestGatewayMetricsAreNamed: docs/kubernetes.md names the metrics that a gateway has
// beside those of HTTP, and no others.
func TestGatewayMetricsAreNamed(t *testing.T) {
	const kubeconfig = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]}`
	dir := t.TempDir()
	cluster, token := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "token")
	must(t, os.WriteFile(cluster, []byte(kubeconfig), 0o600))
	must(t, os.WriteFile(token, []byte("ust_"+strings.Repeat("x", 40)), 0o600))
	g, err := gateway.New(gateway.Options{Kubeconfig: cluster, TokenFile: token, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	all := make(chan *prometheus.Desc, 100)
	g.Describe(all)
	close(all)
	var has []string
	for metric := range all {
		has = append(has, regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(metric.String())[1])
	}
	var named []string
	for _, match := range regexp.MustCompile("`(understudy_\\w+)`").FindAllStringSubmatch(readFile(t, "docs/kubernetes.md"), -1) {
		named = append(named, match[1])
	}
	slices.Sort(has)
	slices.Sort(named)
	expect(t, slices.Equal(has, slices.Compact(named)), "it has %v, and named are %v", has, named)
}
