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
	work sync.WaitGroup
}

func newBackground() *background {
	ctx, end := context.WithCancel(context.Background())
	return &background{Context: ctx, end: end}
}

// Go does something that ends when the context does.
func (b *background) Go(do func(context.Context)) { b.work.Go(func() { do(b) }) }

func (b *background) stop() {
	b.end()
	b.work.Wait()
}
