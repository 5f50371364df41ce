//go:build linux && amd64

package filter

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_X86_64

// olderCalls are those that newer architectures do without.
var olderCalls = map[int]string{
	unix.SYS_RENAME: "rename", unix.SYS_LINK: "link", unix.SYS_UNLINK: "unlink",
	unix.SYS_MKDIR: "mkdir", unix.SYS_RMDIR: "rmdir", unix.SYS_CREAT: "creat",
}
