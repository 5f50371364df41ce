//go:build unix

package durable

import (
	"errors"
	"fmt"
	"os"
)

// SyncFolder makes the names in a folder durable.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}
