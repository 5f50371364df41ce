package uds

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxPath is the size of sun_path less its closing zero.
const maxPath = 107

func peerOf(descriptor int) (Peer, error) {
	credentials, err := unix.GetsockoptUcred(descriptor, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	return Peer{
		UID: credentials.Uid, GID: credentials.Gid, PID: credentials.Pid,
		Executable: executableOf(descriptor, credentials.Pid),
	}, nil
}

// executableOf reads what pid runs. The number alone may by now belong to
// another process, so the answer counts only if the peer's own handle says,
// after the read, that the peer still lives: then the number was its all along.
func executableOf(descriptor int, pid int32) string {
	handle, err := unix.GetsockoptInt(descriptor, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if err != nil {
		return "" // Linux before 6.5
	}
	defer func() { _ = unix.Close(handle) }()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return "" // Another account's process hides it.
	}
	if unix.PidfdSendSignal(handle, 0, nil, 0) != nil {
		return ""
	}
	return name
}
