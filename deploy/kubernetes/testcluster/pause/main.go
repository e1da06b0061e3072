// The program pause holds a pod's namespaces until it is told to end. It is
// a program of its own because every pod runs one: it must be small.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGINT, syscall.SIGTERM)
	<-ended
}
