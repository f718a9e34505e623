// Package anabranch reads the table of a group that the splitter of anabranch planned in another program, and picks from
// it as the splitter does. It plans nothing itself: the other program sends a snapshot after each update.
//
// docs/embedding.md of the project says what a group promises, vectors/split/ what its bytes and picks are.
package anabranch

import "fmt"

// membersMax is the number of members of the largest group, and noMember a number that no member has.
const (
	membersMax = 1024
	noMember   = ^uint16(0)
)

// lengthMax is the number of slots of the largest table.
const lengthMax = 1 << 24

// Table has the member of each slot. It never changes: any number of goroutines may pick from it, and an atomic.Pointer
// to it is how one replaces it by the next.
type Table struct {
	members []uint16
}

// NewTable copies a table as a group exports it (Group.table in Rust, Splitter.table in Python, anabranch_group_table
// in C): the member of each slot, from 1 to 2^24 slots, members from 0 to 1023.
func NewTable(members []uint16) (*Table, error) {
	if len(members) == 0 || len(members) > lengthMax {
		return nil, fmt.Errorf("table: %d slots; give 1 to %d", len(members), lengthMax)
	}
	for slot, member := range members {
		if member >= membersMax {
			return nil, fmt.Errorf("table: slot %d names member %d; a group has at most %d", slot, member, membersMax)
		}
	}
	return &Table{append([]uint16(nil), members...)}, nil
}

// Pick returns the member of the flow with this key, a 64-bit hash of what names the flow. Only the low 32 bits decide.
func (t *Table) Pick(key uint64) uint16 {
	return t.members[uint32(key)%uint32(len(t.members))]
}

// Len returns the number of slots.
func (t *Table) Len() int {
	return len(t.members)
}

// Members returns a copy of the member of each slot.
func (t *Table) Members() []uint16 {
	return append([]uint16(nil), t.members...)
}
