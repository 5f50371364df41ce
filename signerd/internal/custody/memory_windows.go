package custody

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

// page is memory outside Go's heap, locked against swapping and wiped when
// closed.
type page struct {
	address uintptr
	memory  []byte
}

const pageSize = 4096

func newPage(seed []byte) (*page, error) {
	address, err := windows.VirtualAlloc(0, pageSize, windows.MEM_COMMIT|windows.MEM_RESERVE, windows.PAGE_READWRITE)
	if err != nil {
		return nil, fmt.Errorf("map memory: %w", err)
	}
	if err := windows.VirtualLock(address, pageSize); err != nil {
		_ = windows.VirtualFree(address, 0, windows.MEM_RELEASE)
		return nil, fmt.Errorf("lock memory: %w", err)
	}
	// The address is the system's and not the collector's, so it stays good.
	memory := unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), pageSize)
	copy(memory, seed)
	return &page{address: address, memory: memory}, nil
}

func (p *page) bytes() []byte { return p.memory[:seedSize] }

// close wipes before it frees; memory that cannot be freed would then cost
// nothing but itself.
func (p *page) close() {
	clear(p.memory)
	_ = windows.VirtualFree(p.address, 0, windows.MEM_RELEASE)
	p.memory = nil
}

// HardenProcess has nothing to do: this system writes dumps only if its owner
// sets that up.
func HardenProcess() error { return nil }
