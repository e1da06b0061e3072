package worker

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/internal/check"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// miniServer plays a server that is going to be killed; on Linux only.
var miniServer func() int

// roleVariable makes the test binary play another program.
const roleVariable = "WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) == "server" {
		os.Exit(miniServer())
	}
	// It would do for the workers what the Spawner has to.
	_ = os.Unsetenv("PYTHONUNBUFFERED")
	goleak.VerifyTestMain(m)
}

// testSpawner returns a Spawner of real workers that is closed with the test.
func testSpawner(t testing.TB, change ...func(*Options)) *Spawner {
	t.Helper()
	options := Options{Python: workertest.Python(t), LibraryDir: filepath.Join(t.TempDir(), "lib")}
	for _, change := range change {
		change(&options)
	}
	s := NewSpawner(options)
	closeLater(t, s)
	return s
}

var fakePackages = map[string]fs.FS{"pyworker": os.DirFS("testdata/fakeworker/pyworker")}

// fakeSpawner's workers are those of testdata/fakeworker.
func fakeSpawner(t testing.TB, change ...func(*Options)) *Spawner {
	t.Helper()
	s := testSpawner(t, change...)
	s.packages = fakePackages
	return s
}

// start starts a worker that is closed with the test.
func start(t testing.TB, s *Spawner) *worker {
	t.Helper()
	w, err := s.Start(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir(), FirstExecution: 1})
	must(t, err)
	closeLater(t, w)
	return w.(*worker)
}

func fine(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// closeLater closes a worker, or what starts workers, with the test.
func closeLater(t testing.TB, c interface{ Close(context.Context) error }) {
	t.Cleanup(func() { fine(t, c.Close(context.Background())) })
}

// expectPrinted fails unless code prints this.
func expectPrinted(t testing.TB, w sessions.Worker, code, want string) {
	t.Helper()
	_, sink := workertest.Run(t, w, code)
	got := sink.All()
	expect(t, got == want, "%s printed %.200q, want %.200q", code, got, want)
}

// eventually waits for something that other processes do; a test that waits in
// vain fails by its own message.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatal("in vain: " + what)
}
