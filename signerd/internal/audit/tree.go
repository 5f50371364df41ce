package audit

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"os"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// The records are the leaves of a Merkle tree (RFC 6962): a leaf is the hash that
// chains a record, which stands for all of it, so that its bytes are hashed once.
// The journal alone says what the tree is. Its hashes lie
// in a file beside it, in tlog's order, so that a proof need not read the whole
// journal; the file is written anew whenever the journal is opened, and no root
// that is signed comes from it.

// leafOf is the leaf of a record.
func leafOf(hash [32]byte) tlog.Hash { return tlog.RecordHash(hash[:]) }

// edge is the right edge of a tree: the roots of the complete subtrees that it
// consists of, of which there are as many as its size has bits. It is all that
// adding a leaf and the root need.
type edge struct {
	size  uint64
	nodes [64]tlog.Hash
}

// add adds a leaf, and appends to stored the hashes that are complete with it.
func (e *edge) add(leaf tlog.Hash, stored []tlog.Hash) []tlog.Hash {
	stored = append(stored, leaf)
	level := 0
	for ; e.size>>level&1 == 1; level++ {
		leaf = tlog.NodeHash(e.nodes[level], leaf)
		stored = append(stored, leaf)
	}
	e.nodes[level] = leaf
	e.size++
	return stored
}

// root is the tree's hash.
func (e *edge) root() tlog.Hash {
	if e.size == 0 {
		return sha256.Sum256(nil)
	}
	level := bits.TrailingZeros64(e.size)
	hash := e.nodes[level]
	for level++; e.size>>level != 0; level++ {
		if e.size>>level&1 == 1 {
			hash = tlog.NodeHash(e.nodes[level], hash)
		}
	}
	return hash
}

// beside is the name of a file that belongs to a journal.
func beside(path, extension string) string { return strings.TrimSuffix(path, ".jsonl") + extension }

// hashFile keeps the hashes of a tree.
type hashFile struct {
	file *os.File
	out  *bufio.Writer
}

func createHashFile(path string) (*hashFile, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the audit log's tree: %w", err)
	}
	return &hashFile{file, bufio.NewWriterSize(file, 1<<16)}, nil
}

func (f *hashFile) add(hashes []tlog.Hash) error {
	for _, hash := range hashes {
		if _, err := f.out.Write(hash[:]); err != nil {
			return fmt.Errorf("write the audit log's tree: %w", err)
		}
	}
	return nil
}

// ReadHashes reads what a proof needs.
func (f *hashFile) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	if err := f.out.Flush(); err != nil {
		return nil, fmt.Errorf("write the audit log's tree: %w", err)
	}
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if _, err := f.file.ReadAt(hashes[i][:], index*tlog.HashSize); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the audit log's tree: %w", err)
		}
	}
	return hashes, nil
}
