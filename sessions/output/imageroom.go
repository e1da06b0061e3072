package output

import "sync"

const (
	// MaxImages is how many bytes of images that nobody has fetched yet one session may
	// have in memory, of all its executions; further figures are files only. One answer
	// holds no more: 10 MiB in base64.
	MaxImages = 8 << 20
	// maxAllImages is how many all sessions may have together.
	maxAllImages = 64 << 20
)

// ImageRoom is what is left of that, of a session or of all.
type ImageRoom struct {
	above *ImageRoom // that of all sessions

	mu    sync.Mutex
	left  int
	taken int
	over  bool // the session has ended
}

// take reports whether there is room for an image, which then has it.
func (r *ImageRoom) take(size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || size > r.left || r.above != nil && !r.above.take(size) {
		return false
	}
	r.left, r.taken = r.left-size, r.taken+size
	return true
}

// give takes room back.
func (r *ImageRoom) give(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	r.left, r.taken = r.left+size, r.taken-size
	if r.above != nil {
		r.above.give(size)
	}
}

// AllImages returns the room for the images of all sessions.
func AllImages() *ImageRoom { return &ImageRoom{left: maxAllImages} }

// ForOne returns that of one session.
func (r *ImageRoom) ForOne() *ImageRoom { return &ImageRoom{above: r, left: MaxImages} }

// Close takes back what a session had that has ended: nobody will fetch its images.
func (r *ImageRoom) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over && r.above != nil {
		r.above.give(r.taken)
	}
	r.over = true
}
