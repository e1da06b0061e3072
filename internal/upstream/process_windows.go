package upstream

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
