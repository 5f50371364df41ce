//go:build unix

package custody

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// page is one page of memory outside Go's heap: never moved or copied by the
// collector, locked against swapping, and wiped when closed.
type page struct{ memory []byte }

func newPage(seed []byte) (*page, error) {
	memory, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map memory: %w", err)
	}
	p := &page{memory: memory}
	if err := unix.Mlock(memory); err != nil {
		p.close()
		return nil, fmt.Errorf("lock memory: %w", err)
	}
	if err := hideFromDumps(memory); err != nil {
		p.close()
		return nil, fmt.Errorf("keep memory out of dumps: %w", err)
	}
	copy(memory, seed)
	return p, nil
}

func (p *page) bytes() []byte { return p.memory[:seedSize] }

// close wipes before it unmaps; that the pages cannot be unmapped would then
// cost nothing but memory.
func (p *page) close() {
	clear(p.memory)
	_ = unix.Munmap(p.memory)
	p.memory = nil
}
