package anabranch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
)

// plans has how each technique comes to its table, from members, parameters and history.
var plans = map[string]func(g *Snapshot, parameters map[string]string, history []byte) ([]uint16, error){
	"min-move":        minMove,
	"maglev":          ofMaglev,
	"linux-resilient": linuxResilient,
}

// factorOf16 divides all keys of 16-bit hashes: a table of such a length would leave most slots empty.
const factorOf16 = 65519

// parameter returns the one parameter that a technique has: a whole number from 1 to most, as the library writes it.
func parameter(parameters map[string]string, key string, most int) (int, error) {
	text, given := parameters[key]
	value, err := strconv.Atoi(text)
	if !given || len(parameters) != 1 || err != nil || strconv.Itoa(value) != text || value < 1 || value > most {
		return 0, fmt.Errorf("parameters %v; it has %s, from 1 to %d", parameters, key, most)
	}
	return value, nil
}

// minMove reads the slots, and checks the home and the weights it was taken at, by which later updates would go.
func minMove(g *Snapshot, parameters map[string]string, history []byte) ([]uint16, error) {
	slots, err := parameter(parameters, "slots", lengthMax)
	if err != nil {
		return nil, err
	}
	if slots%factorOf16 == 0 || positive(g.Weights) > slots {
		return nil, fmt.Errorf("%d slots of %d members", slots, positive(g.Weights))
	}
	width := 2
	if (slots == 1<<12 || slots == 1<<16) && len(g.Weights) <= 1<<8 {
		width = 1
	}
	bytes := unread{rest: history}
	table := entries(bytes.take(slots*width), width)
	home := entries(bytes.take(slots*width), width)
	asked := longWords(bytes.rest)
	if bytes.cut || len(bytes.rest)%8 != 0 {
		return nil, errors.New("a history that is not two tables of the slots and asked weights")
	}
	if err := checkWeights(asked); err != nil {
		return nil, err
	}
	if len(asked) > len(g.Weights) || (equal(g.Left, g.Weights) && !equal(asked, g.Weights)) {
		return nil, errors.New("asked weights that are not those asked")
	}
	if !isWebsters(table, g.Left) || !isWebsters(home, asked) {
		return nil, errors.New("a table whose shares are not those of its weights")
	}
	return table, nil
}

// linuxResilient reads the buckets.
func linuxResilient(g *Snapshot, parameters map[string]string, history []byte) ([]uint16, error) {
	buckets, err := parameter(parameters, "buckets", 1<<16-1)
	if err != nil {
		return nil, err
	}
	if len(history) != 2*buckets {
		return nil, errors.New("another number of buckets")
	}
	table := entries(history, 2)
	counts, fit := count(table, len(g.Left))
	if !fit || !equal(counts, cumulative(g.Left, uint64(buckets))) {
		return nil, errors.New("buckets whose shares are not those of the weights")
	}
	return table, nil
}

// cumulative returns differences of the rounded cumulative weights, as Linux has them (nh_res_group_rebalance).
func cumulative(weights []uint64, buckets uint64) []uint64 {
	var sum, below, bound uint64
	for _, weight := range weights {
		sum += weight
	}
	counts := make([]uint64, len(weights))
	var cumulated uint64
	for member, weight := range weights {
		cumulated += weight
		high, low := bits.Mul64(buckets, cumulated)
		low, carry := bits.Add64(low, sum/2, 0)
		below = bound
		bound, _ = bits.Div64(high+carry, low, sum)
		counts[member] = bound - below
	}
	return counts
}

// entries returns the members of slots of one byte or two.
func entries(bytes []byte, width int) []uint16 {
	members := make([]uint16, len(bytes)/width)
	for slot := range members {
		if width == 1 {
			members[slot] = uint16(bytes[slot])
		} else {
			members[slot] = binary.LittleEndian.Uint16(bytes[2*slot:])
		}
	}
	return members
}

// count returns how many slots each member has, and whether all slots name a member.
func count(table []uint16, members int) ([]uint64, bool) {
	counts := make([]uint64, members)
	for _, member := range table {
		if int(member) >= members {
			return nil, false
		}
		counts[member]++
	}
	return counts, true
}

func positive(weights []uint64) int {
	count := 0
	for _, weight := range weights {
		if weight > 0 {
			count++
		}
	}
	return count
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
