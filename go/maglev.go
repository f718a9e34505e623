package anabranch

import (
	"errors"
	"fmt"
	"math/bits"
)

// ofMaglev plans the table anew: weights and length decide it.
func ofMaglev(g *Snapshot, parameters map[string]string, history []byte) ([]uint16, error) {
	length, err := parameter(parameters, "entries", lengthMax)
	if err != nil {
		return nil, err
	}
	if !isPrime(length) || length == factorOf16 || positive(g.Left) > length {
		return nil, fmt.Errorf("%d entries of %d members", length, positive(g.Left))
	}
	if len(history) > 0 {
		return nil, errors.New("a history of a technique that has none")
	}
	return maglev(g.Left, uint64(length)), nil
}

func isPrime(n int) bool {
	for divisor := 2; divisor*divisor <= n; divisor++ {
		if n%divisor == 0 {
			return false
		}
	}
	return n > 1
}

// walk is the permutation of the entries for one member.
type walk struct {
	member             uint16
	weight             uint64
	entry, skip, turns uint64
}

// maglev returns the member of each entry (Eisenbud et al., NSDI 2016, sec. 3.4): members take the next free entry of
// their permutations in turns. By Envoy's rule one of weight w has had min(r, floor(r w / heaviest) + 1) turns after r
// rounds. A member's permutation is of its number and the length alone.
func maglev(weights []uint64, length uint64) []uint16 {
	var walks []walk
	var heaviest uint64
	for member, weight := range weights {
		if weight == 0 {
			continue
		}
		if weight > heaviest {
			heaviest = weight
		}
		name := splitMix(uint64(member))
		walks = append(walks, walk{uint16(member), weight, name % length, splitMix(name)%(length-1) + 1, 0})
	}
	table := make([]uint16, length)
	for entry := range table {
		table[entry] = noMember
	}
	for round, free := uint64(1), length; ; round++ {
		for i := range walks {
			w := &walks[i]
			high, low := bits.Mul64(round, w.weight)
			if due, _ := bits.Div64(high, low, heaviest); w.turns > due {
				continue
			}
			if free == 0 {
				return table
			}
			for table[w.entry] != noMember {
				w.entry = (w.entry + w.skip) % length
			}
			table[w.entry] = w.member
			w.turns++
			free--
		}
	}
}

// splitMix is one output of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func splitMix(state uint64) uint64 {
	z := state + 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
