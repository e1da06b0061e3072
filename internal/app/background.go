package app

import (
	"context"
	"sync"
)

// background is what one part of the server does beside answering: its context ends with
// stop, which waits for all of it.
type background struct {
	context.Context
	end  context.CancelFunc
	mu   sync.Mutex // between Go and stop
	work sync.WaitGroup
}

func newBackground() *background {
	ctx, end := context.WithCancel(context.Background())
	return &background{Context: ctx, end: end}
}

// Go does something that ends when the context does. After stop nothing begins: it reports
// whether it did.
func (b *background) Go(do func(context.Context)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Err() != nil {
		return false
	}
	b.work.Go(func() { do(b) })
	return true
}

func (b *background) stop() {
	b.mu.Lock()
	b.end()
	b.mu.Unlock()
	b.work.Wait()
}
