package anabranch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Snapshot is the state of a group as another program left it, with the table that it picks by.
type Snapshot struct {
	// Technique is its name, as "min-move".
	Technique string
	// Weights of all members, as they were asked for.
	Weights []uint64
	// Left is what is left of each weight: 0 for a member that is down or drains, less than asked while one is starting.
	Left []uint64
	// Updates is the number of updates since the group was made.
	Updates uint64
	// Digest of technique, parameters, weights and history: 32 hexadecimal digits, as revisions have them elsewhere.
	Digest string
	// Table by which the group picks.
	Table *Table
}

const (
	magic    = "ABGROUP\x00"
	format   = 1
	headLen  = len(magic) + 2 + 8 + 16
	checkLen = 8
	// sumMax is the largest sum of weights.
	sumMax = 1 << 53
)

// Read takes a group from the bytes of its snapshot, all of them (Group.snapshot in Rust, Splitter.snapshot in Python,
// anabranch_group_snapshot in C). It reads the techniques "min-move", "maglev" and "linux-resilient"; of others that pick
// by a table, pass the table to NewTable. Bytes that were cut, changed or forged are refused as the library refuses
// them: version, checksum, digest, names, lengths, and slots whose shares are not those of the weights. A digest is no
// signature: take snapshots from whom you trust.
func Read(snapshot []byte) (*Snapshot, error) {
	group, err := read(snapshot)
	if err != nil {
		return nil, fmt.Errorf("snapshot: %w; take it again and pass all of its bytes", err)
	}
	return group, nil
}

func read(snapshot []byte) (*Snapshot, error) {
	if len(snapshot) < headLen+checkLen || string(snapshot[:len(magic)]) != magic {
		return nil, fmt.Errorf("%d bytes that do not begin as one", len(snapshot))
	}
	if version := binary.LittleEndian.Uint16(snapshot[len(magic):]); version != format {
		return nil, fmt.Errorf("format %d, and this version reads %d", version, format)
	}
	end := len(snapshot) - checkLen
	if xxh3(snapshot[:end]) != binary.LittleEndian.Uint64(snapshot[end:]) {
		return nil, errors.New("the checksum is not that of the bytes, which were cut or changed")
	}
	body := snapshot[headLen:end]
	if len(body) < shortest {
		return nil, errors.New("the bytes end too early")
	}
	high, low := xxh3of128(body)
	if low != binary.LittleEndian.Uint64(snapshot[len(magic)+10:]) ||
		high != binary.LittleEndian.Uint64(snapshot[len(magic)+18:]) {
		return nil, errors.New("the digest is not that of the group")
	}
	group := &Snapshot{
		Updates: binary.LittleEndian.Uint64(snapshot[len(magic)+2:]),
		Digest:  fmt.Sprintf("%016x%016x", high, low),
	}
	return group, group.readBody(&unread{rest: body})
}

func (g *Snapshot) readBody(body *unread) error {
	technique, parameters := body.text(), make(map[string]string)
	for count := body.byte(); count > 0 && !body.cut; count-- {
		key := body.text()
		if _, twice := parameters[key]; twice {
			return fmt.Errorf("parameter %q twice", key)
		}
		parameters[key] = body.text()
	}
	count := int(body.word())
	g.Weights = body.weights(count)
	switch kind := body.byte(); kind {
	case 0:
		g.Left = append([]uint64(nil), g.Weights...)
		for member, flag := range body.take(count) {
			if flag > 1 {
				return fmt.Errorf("member %d is neither up nor down", member)
			}
			g.Left[member] *= uint64(flag)
		}
	case 1:
		g.Left = body.weights(count)
	default:
		return fmt.Errorf("%d is no kind of members", kind)
	}
	history := body.take(int(body.long()))
	if body.cut || len(body.rest) > 0 {
		return errors.New("another number of bytes than a group has")
	}
	if !utf8.ValidString(technique) {
		return errors.New("a name that is not UTF-8")
	}
	for _, weights := range [][]uint64{g.Weights, g.Left} {
		if err := checkWeights(weights); err != nil {
			return err
		}
	}
	plan, known := plans[technique]
	if !known {
		return fmt.Errorf("technique %q: this package reads no table of it; pass the table to NewTable", technique)
	}
	members, err := plan(g, parameters, history)
	if err != nil {
		return fmt.Errorf("%s: %w", technique, err)
	}
	g.Technique, g.Table = technique, &Table{members}
	return nil
}

// checkWeights refuses weights that no group has.
func checkWeights(weights []uint64) error {
	var sum uint64
	for _, weight := range weights {
		if weight > sumMax-sum {
			return errors.New("weights whose sum exceeds 2^53")
		}
		sum += weight
	}
	if len(weights) > membersMax || sum == 0 {
		return fmt.Errorf("%d weights, their sum %d; a group has 1 to %d members, one of them with a positive weight",
			len(weights), sum, membersMax)
	}
	return nil
}

// unread is what is left of some bytes. Once they end too early it yields nothing any more, and says so.
type unread struct {
	rest []byte
	cut  bool
}

// take returns the next bytes; none if there are not so many.
func (u *unread) take(count int) []byte {
	if u.cut || count < 0 || count > len(u.rest) {
		u.rest, u.cut = nil, true
		return nil
	}
	taken := u.rest[:count]
	u.rest = u.rest[count:]
	return taken
}

func (u *unread) byte() byte {
	if taken := u.take(1); taken != nil {
		return taken[0]
	}
	return 0
}

func (u *unread) word() uint16 {
	if taken := u.take(2); taken != nil {
		return binary.LittleEndian.Uint16(taken)
	}
	return 0
}

func (u *unread) long() uint32 {
	if taken := u.take(4); taken != nil {
		return binary.LittleEndian.Uint32(taken)
	}
	return 0
}

// text returns a text behind its length.
func (u *unread) text() string {
	return string(u.take(int(u.byte())))
}

// weights returns so many numbers of eight bytes.
func (u *unread) weights(count int) []uint64 {
	return longWords(u.take(8 * count))
}

func longWords(bytes []byte) []uint64 {
	words := make([]uint64, len(bytes)/8)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(bytes[8*i:])
	}
	return words
}
