//go:build !linux

package worker

// Zygote stands for the starter that only Linux has; see zygote_linux.go. Here
// it spawns.
type Zygote struct{ *Spawner }

// NewZygote returns a Zygote that spawns.
func NewZygote(options Options) *Zygote { return &Zygote{NewSpawner(options)} }

// ForkObstacle says that workers can't be copied on this system.
func ForkObstacle(float64) string { return ObstacleSpawned }
