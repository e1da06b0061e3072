package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// cardsAt makes up files as a machine with cards has them, and returns what they are in.
func cardsAt(t *testing.T, names ...string) string {
	t.Helper()
	root := resolved(t.TempDir())
	for _, name := range names {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, nil, 0o600))
		must(t, os.Chmod(path, 0o666))
	}
	return root
}

// twoCards are the files of a machine with two cards, the second of which has an
// instance of MIG.
var twoCards = []string{
	"dev/nvidiactl", "dev/nvidia-uvm", "dev/nvidia-uvm-tools", "dev/nvidia-modeset", "dev/nvidia0", "dev/nvidia10",
	"dev/nvidia-caps/nvidia-cap1", "dev/nvidia-caps/nvidia-cap2", "dev/nvidia-caps/nvidia-cap12",
	"sys/bus/pci/drivers/nvidia/0000:01:00.0", "sys/bus/pci/drivers/nvidia/bind", "sys/module/nvidia_uvm/version", "sys/module/other/version",
}

func TestCards(t *testing.T) {
	root := cardsAt(t, twoCards...)
	for name, test := range map[string]struct{ asked, opened, shut string }{
		"none": {"", "", "nvidia-modeset nvidia-uvm nvidia-uvm-tools nvidia0 nvidia10 nvidiactl nvidia-cap1 nvidia-cap12 nvidia-cap2"},
		"one":  {"10", "nvidiactl nvidia-uvm nvidia10 nvidia-uvm-tools", "nvidia-modeset nvidia0 nvidia-cap1 nvidia-cap12 nvidia-cap2"},
		"all":  {"all", "nvidiactl nvidia-uvm nvidia0 nvidia10 nvidia-uvm-tools nvidia-cap12", "nvidia-modeset nvidia-cap1 nvidia-cap2"},
	} {
		w, err := New(Settings{Mode: Strict, GPU: strings.Fields(test.asked), root: root}, generous)
		must(t, err)
		rules := w.base(root, nil).Landlock
		if got := ruled(rules, root+"/dev", unix.LANDLOCK_ACCESS_FS_IOCTL_DEV); got != test.opened {
			t.Errorf("%s: the rules open %s", name, got)
		}
		read := ruled(rules, root+"/sys", unix.LANDLOCK_ACCESS_FS_READ_DIR)
		want := "0000:01:00.0 nvidia_uvm"
		expect(t, (test.asked != "" || read == "") && (test.asked == "" || read == want), "%s: the rules let it read %q", name, read)
		w.host.Landlock = 0
		_, shut := w.unruled()
		for i, path := range shut {
			shut[i] = filepath.Base(path)
		}
		if got := strings.Join(shut, " "); got != test.shut {
			t.Errorf("%s: without Landlock the view shuts %s", name, got)
		}
	}
}

// ruled are the names of what is in a directory and has a rule that gives a right.
func ruled(l *landlock, dir string, right uint64) string {
	var names []string
	for _, r := range l.Rules {
		if path := r[0].(string); within(path, []string{dir}) && r[1].(uint64)&right != 0 {
			names = append(names, filepath.Base(path))
		}
	}
	return strings.Join(names, " ")
}

func TestCardsThatCanNotBeHad(t *testing.T) {
	for name, test := range map[string]struct {
		here  []string
		asked string
		mode  os.FileMode
		want  string
	}{
		"no card":      {nil, "all", 0o666, "gpu: no NVIDIA card is here"},
		"no driver":    {[]string{"dev/nvidia0"}, "0", 0o666, "gpu: no NVIDIA card is here"},
		"another card": {twoCards, "0,3", 0o666, "gpu: there is no card 3"},
		"no module":    {[]string{"dev/nvidiactl", "dev/nvidia0"}, "all", 0o666, "nvidia-modprobe -u -c 0"},
		"not for us":   {twoCards, "0", 0o660, "dev/nvidia0 (its mode is -rw-rw----)"},
	} {
		root := cardsAt(t, test.here...)
		if slices.Contains(test.here, "dev/nvidia0") {
			must(t, os.Chmod(filepath.Join(root, "dev/nvidia0"), test.mode))
		}
		_, err := New(Settings{Mode: Standard, GPU: strings.Split(test.asked, ","), root: root}, generous)
		expect(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v", name, err)
		expect(t, strings.Count(err.Error(), "gpu: ") == 1 && (strings.HasSuffix(err.Error(), "leave --gpu out") || name == "another card"), "%s: it is not said what to do: %v", name, err)
	}
}

// A doctor says what is here, what may be opened, and what stands against it.
func TestCardsInWords(t *testing.T) {
	for name, test := range map[string]struct {
		here, asked []string
		want        string
	}{
		"none here":  {nil, nil, "no NVIDIA card is here"},
		"not asked":  {twoCards, nil, "may open none of "},
		"asked":      {twoCards, []string{"0"}, "may open "},
		"in the way": {[]string{"dev/nvidiactl", "dev/nvidia0"}, nil, "with --gpu all the server would not start: there is no "},
	} {
		w, err := New(Settings{Mode: Standard, GPU: test.asked, root: cardsAt(t, test.here...)}, generous)
		must(t, err)
		got := w.GPU()
		expect(t, strings.Contains(got, test.want), "%s: %s", name, got)
	}
}

// What cards open beside themselves is said.
func TestCardsOpen(t *testing.T) {
	for name, test := range map[string]struct {
		host Host
		asks bool
		open []string
	}{
		"none":     {Host{Landlock: 7, User: 1000, NoCgroups: "refused"}, false, nil},
		"root":     {generous, true, []string{"the driver of the cards"}},
		"one user": {Host{Landlock: 7, User: 1000, NoCgroups: "refused"}, true, []string{"the driver of the cards", "memfd_create", "the kernel ends first"}},
		"no rules": {Host{User: 1000}, true, []string{"the driver of the cards"}},
	} {
		settings := Settings{Mode: Standard, root: cardsAt(t, twoCards...)}
		if test.asks {
			settings.GPU = []string{"all"}
		}
		w, err := New(settings, test.host)
		must(t, err)
		open := slices.DeleteFunc(w.Open(), func(sentence string) bool { return !strings.Contains(sentence, "--gpu") })
		if len(open) != len(test.open) {
			t.Errorf("%s: %q", name, open)
			continue
		}
		for i, part := range test.open {
			expect(t, strings.Contains(open[i], part), "%s: %q", name, open)
		}
	}
}
