//go:build !linux && !darwin

package uds

import "errors"

// maxPath is the size of sun_path less its closing zero.
const maxPath = 103

func peerOf(int) (Peer, error) {
	return Peer{}, errors.New("this system does not say who connects to a Unix socket; run Countersign on Linux or macOS")
}
