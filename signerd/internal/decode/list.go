package decode

import (
	"cmp"
	"slices"

	"countersign/shared/solana"
)

// Listed is one instruction that has an entry in the tables.
type Listed struct {
	Program solana.PublicKey
	// Tag is its opcode; 0 for the one instruction of a program without any.
	Tag uint32
	// Name is program and instruction, such as "System.Transfer".
	Name string
}

// Known lists every instruction of the programs that are decoded in full, by
// program name and opcode. What is not in it is refused.
func Known() []Listed {
	var list []Listed
	for id, known := range programs {
		for tag, found := range known.specs {
			list = append(list, Listed{Program: id, Tag: tag, Name: known.name + "." + found.name})
		}
	}
	slices.SortFunc(list, func(a, b Listed) int {
		return cmp.Or(
			cmp.Compare(programs[a.Program].name, programs[b.Program].name),
			cmp.Compare(a.Tag, b.Tag),
		)
	})
	return list
}
