package anabranch

import "math/bits"

// claim of a member to a slot, compared as weight / divisor; of equal claims the lower member's is greater.
type claim struct {
	weight, divisor uint64
	member          int
}

// less reports whether another claim is greater.
func (c claim) less(other claim) bool {
	ours, ourLow := bits.Mul64(c.weight, other.divisor)
	theirs, theirLow := bits.Mul64(other.weight, c.divisor)
	if ours != theirs {
		return ours < theirs
	}
	if ourLow != theirLow {
		return ourLow < theirLow
	}
	return c.member > other.member
}

// isWebsters reports whether the members of a table have the numbers of slots of Webster's method, one at least for each
// positive weight. Slots go one after the other to the greatest weight / (2 slots + 1), so the numbers are right exactly
// if the greatest claim to one more slot is below the least claim to one that a member has.
func isWebsters(table []uint16, weights []uint64) bool {
	counts, fit := count(table, len(weights))
	if !fit {
		return false
	}
	var next, least *claim
	for member, slots := range counts {
		if (slots > 0) != (weights[member] > 0) {
			return false
		}
		if slots == 0 {
			continue
		}
		if more := (claim{weights[member], 2*slots + 1, member}); next == nil || next.less(more) {
			next = &more
		}
		if slots > 1 {
			if last := (claim{weights[member], 2*slots - 1, member}); least == nil || last.less(*least) {
				least = &last
			}
		}
	}
	return next != nil && (least == nil || next.less(*least))
}
