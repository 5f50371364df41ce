//go:build !unix

package durable

// SyncFolder does nothing: this system keeps names durable by itself and does
// not let a folder be flushed.
func SyncFolder(string) error { return nil }
