// Package durable writes files so that a crash or power cut leaves either the
// old content or the new, never half of one. Any package may import it.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces path with data in one step, readable by its owner alone:
// a file beside it is written and flushed, takes the name, and the folder is
// flushed.
func WriteFile(path string, data []byte) error {
	return place(path, data, os.Rename)
}

// WriteNewFile is WriteFile for a file that must not exist yet.
func WriteNewFile(path string, data []byte) error {
	return place(path, data, func(from, to string) error {
		// Unlike a rename, a link does not replace what is there.
		if err := os.Link(from, to); err != nil {
			return err
		}
		return os.Remove(from)
	})
}

func place(path string, data []byte, move func(from, to string) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, removeIfThere(file.Name()))
		}
	}()
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := move(file.Name(), path); err != nil {
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
