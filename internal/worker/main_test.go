package worker

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// roleVariable makes the test binary play another program.
const roleVariable = "WORKER_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "watchdog":
		os.Exit(WatchdogMain(context.Background(), os.Stdin, slog.New(slog.DiscardHandler)))
	case "server":
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
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w.(*worker)
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

// miniServer is a server with one worker, whose code it reads from its
// arguments. It lives until it is killed.
func miniServer() int {
	options := Options{Python: os.Getenv("WORKER_TEST_PYTHON"), LibraryDir: os.Getenv("WORKER_TEST_LIBRARY")}
	if os.Getenv("WORKER_TEST_NO_WATCHDOG") == "" {
		options.Watchdog = []string{os.Args[0]}
	}
	var s interface {
		sessions.Starter
		Warm()
		Helper(string) (*Helper, error)
	}
	if os.Getenv("WORKER_TEST_START") == "zygote" {
		options.CheckpointShare = 0.5
		s = NewZygote(options)
	} else {
		spawner := NewSpawner(options)
		spawner.packages = fakePackages
		s = spawner
	}
	if os.Getenv("WORKER_TEST_HELPER") != "" {
		h, err := s.Helper("helper.py")
		if err == nil {
			_, err = h.Write([]byte("hang\n"))
		}
		if err != nil {
			fmt.Println(err)
			return 1
		}
	}
	// The watchdog plays its part by the same variable.
	os.Setenv(roleVariable, "watchdog")
	w, err := s.Start(context.Background(), sessions.Spec{InterpreterID: "mini", Workdir: os.TempDir()})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	sink := workertest.NewRecorder()
	_, err = w.Run(context.Background(), sessions.Request{Execution: 1, Code: os.Getenv("WORKER_TEST_CODE")}, sink)
	if s.ForkObstacle() == "" { // with a copy to be woken by nobody
		if _, failed := w.Fork(context.Background(), sessions.ToStandBy); failed != nil {
			err = failed
		}
	}
	fmt.Println(sink.Text(sessions.Stdout), err)
	select {}
}
