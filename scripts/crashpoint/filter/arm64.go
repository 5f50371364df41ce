//go:build linux && arm64

package filter

import "golang.org/x/sys/unix"

const architecture = unix.AUDIT_ARCH_AARCH64

// olderCalls are those that newer architectures do without: none here.
var olderCalls = map[int]string{}
