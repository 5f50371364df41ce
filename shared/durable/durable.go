// Package durable writes files so that a crash or power cut leaves either no
// file or all of it, never half of one. Any package may import it.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteNewFile makes a file that must not exist yet, readable by its owner
// alone: a file beside it is written and flushed, takes the name, and the
// folder is flushed. An error that is os.ErrExist says that there is one.
func WriteNewFile(path string, data []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer func() { err = errors.Join(err, removeIfThere(file.Name())) }()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	// Unlike a rename, a link does not replace what is there.
	if err := os.Link(file.Name(), path); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	return SyncFolder(filepath.Dir(path))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
