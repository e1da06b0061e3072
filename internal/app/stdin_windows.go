package app

import "os"

// pollableStdin returns standard input as it is: Windows has no poller for it.
func pollableStdin() *os.File { return os.Stdin }
