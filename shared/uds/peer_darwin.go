package uds

import "golang.org/x/sys/unix"

// maxPath is the size of sun_path less its closing zero.
const maxPath = 103

func peerOf(descriptor int) (Peer, error) {
	credentials, err := unix.GetsockoptXucred(descriptor, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return Peer{}, err
	}
	peer := Peer{UID: credentials.Uid, GID: credentials.Groups[0]}
	if pid, err := unix.GetsockoptInt(descriptor, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err == nil {
		peer.PID = int32(pid) //nolint:gosec // G115: a process id of this system has 32 bits.
	}
	return peer, nil
}
