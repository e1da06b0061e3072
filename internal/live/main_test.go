package live

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

func TestMain(m *testing.M) {
	time.Local = time.UTC // what is shown is local time
	goleak.VerifyTestMain(m)
}
