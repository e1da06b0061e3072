package worker

import (
	"context"
	"fmt"
	"os"
	"sort"
	"testing"
	"time"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

func med(v []time.Duration) time.Duration {
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return v[len(v)/2]
}

func TestTmpPerf(t *testing.T) {
	z := testZygote(t, func(o *Options) { o.Preload = []string{"numpy", "pandas", "matplotlib.pyplot"} })
	w := workertest.Start(t, z)
	workertest.Run(t, w, "import numpy, pandas, matplotlib.pyplot")
	sink := workertest.NewRecorder()
	for _, mode := range []string{"no copies", "dismiss after each", "dismiss later", "dismiss after each", "dismiss later"} {
		var runs, forks, dis, total []time.Duration
		var kept []sessions.Understudy
		for i := range 60 {
			a := time.Now()
			if _, err := w.Run(context.Background(), sessions.Request{Execution: i + 1, Code: "1+1"}, sink); err != nil {
				t.Fatal(err)
			}
			b := time.Now()
			if mode != "no copies" {
				u, err := w.Fork(context.Background(), sessions.ToStandBy)
				if err != nil {
					t.Fatal(err)
				}
				kept = append(kept, u)
			}
			c := time.Now()
			if mode == "dismiss after each" && len(kept) > 2 {
				kept[0].Dismiss()
				kept = kept[1:]
			}
			d := time.Now()
			runs, forks, dis, total = append(runs, b.Sub(a)), append(forks, c.Sub(b)), append(dis, d.Sub(c)), append(total, d.Sub(a))
		}
		for _, u := range kept {
			u.Dismiss()
		}
		time.Sleep(500 * time.Millisecond)
		fmt.Fprintln(os.Stderr, mode, "run", med(runs), "fork", med(forks), "dismiss", med(dis), "all", med(total))
	}
}
