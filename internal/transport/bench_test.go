package transport

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func BenchmarkCalls(b *testing.B) {
	h := open(b, HTTPOptions{MaxCalls: 256, MaxRate: 1e9})
	id := h.session(b)
	for name, q := range map[string]request{
		"older": post(calling(1, "remember", "")).with(mcpSession, id), "newest": inModern(b, post(calling(1, "remember", ""))),
	} {
		b.Run(name, func(b *testing.B) {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
			b.SetParallelism(32)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, _ := http.NewRequest(http.MethodPost, "http://"+h.addr+q.path, strings.NewReader(q.body))
					for name, value := range q.header {
						r.Header.Set(name, value)
					}
					response, err := client.Do(r)
					if err != nil {
						b.Fatal(err)
					}
					if response.StatusCode != http.StatusOK {
						b.Fatal(fmt.Sprint(response.Status))
					}
					_, _ = io.Copy(io.Discard, response.Body)
					_ = response.Body.Close()
				}
			})
			client.CloseIdleConnections()
		})
	}
}
