package anabranch

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"strings"
	"testing"
)

// seal writes the digest and checksum that are right for what else is in a snapshot.
func seal(snapshot []byte) []byte {
	end := len(snapshot) - checkLen
	high, low := xxh3of128(snapshot[headLen:end])
	binary.LittleEndian.PutUint64(snapshot[len(magic)+10:], low)
	binary.LittleEndian.PutUint64(snapshot[len(magic)+18:], high)
	binary.LittleEndian.PutUint64(snapshot[end:], xxh3(snapshot[:end]))
	return snapshot
}

// small returns the snapshots of the vectors that have few bytes.
func small(t testing.TB) [][]byte {
	t.Helper()
	var snapshots [][]byte
	for _, lines := range vectors(t, ".txt") {
		for _, line := range lines {
			if _, known := plans[lines[0][1]]; line[0] == "snapshot" && known && len(line[1]) < 4000 {
				snapshots = append(snapshots, unhex(t, line[1:]))
			}
		}
	}
	return snapshots
}

// check reads bytes from anybody: no panic, and picks of members that there are.
func check(t *testing.T, snapshot []byte) bool {
	t.Helper()
	group, err := Read(snapshot)
	if err != nil {
		return false
	}
	for key := uint64(0); key < 2*uint64(group.Table.Len()) && key < 1<<12; key++ {
		if member := group.Table.Pick(key); int(member) >= len(group.Left) || group.Left[member] == 0 {
			t.Fatalf("key %d goes to member %d, of %v", key, member, group.Left)
		}
	}
	return true
}

func TestEveryChangedByteAndEveryCutIsRefused(t *testing.T) {
	for _, snapshot := range small(t) {
		if !check(t, snapshot) {
			t.Fatal("a vector is refused")
		}
		for at := range snapshot {
			changed := append([]byte(nil), snapshot...)
			changed[at] ^= byte(1 + at%255)
			if check(t, changed) || check(t, snapshot[:at]) {
				t.Fatalf("byte %d: accepted", at)
			}
		}
	}
}

func TestForgedSnapshotsPickMembersThatTheyHave(t *testing.T) {
	random, snapshots := rand.New(rand.NewSource(38)), small(t)
	accepted := 0
	for round := 0; round < 20000; round++ {
		forged := append([]byte(nil), snapshots[random.Intn(len(snapshots))]...)
		for changes := 1 + random.Intn(3); changes > 0; changes-- {
			at := headLen + random.Intn(len(forged)-headLen-checkLen)
			switch random.Intn(3) {
			case 0:
				forged[at] = byte(random.Intn(256))
			case 1:
				forged = append(forged[:at], forged[at+1:]...)
			default:
				forged = append(forged[:at+1], forged[at:]...)
			}
		}
		if check(t, seal(forged)) {
			accepted++
		}
	}
	// A few are right after all: two slots that changed places, say.
	if accepted == 0 {
		t.Error("none was accepted: the seal is wrong, and all were refused for it")
	}
}

func FuzzRead(f *testing.F) {
	for _, snapshot := range small(f) {
		f.Add(snapshot)
	}
	f.Fuzz(func(t *testing.T, snapshot []byte) {
		// Maglev of many entries and members takes long, as it does in the library.
		if len(snapshot) < headLen+checkLen || len(snapshot) > 1<<14 || bytes.Contains(snapshot, []byte("maglev")) {
			return
		}
		check(t, snapshot)
		if len(snapshot) >= headLen+shortest+checkLen {
			check(t, seal(snapshot))
		}
	})
}

func TestTablesThatCannotBeAreRefused(t *testing.T) {
	for _, members := range [][]uint16{nil, {0, 1024}, make([]uint16, lengthMax+1)} {
		if table, err := NewTable(members); err == nil || table != nil {
			t.Errorf("%d slots are accepted", len(members))
		}
	}
	members := []uint16{0, 1}
	table, err := NewTable(members)
	if err != nil {
		t.Fatal(err)
	}
	members[0], table.Members()[1] = 7, 7
	if picked := fmt.Sprint(table.Pick(0), table.Pick(1)); picked != "0 1" {
		t.Errorf("a table that changes: %s", picked)
	}
}

// Values of the package xxhash for inputs up to 40 bytes; longer ones are the snapshots'.
func TestHashesAreThoseOfAnotherImplementation(t *testing.T) {
	text, err := os.ReadFile("../vectors/hash/general.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, row := range rows {
		if row[0] != "xxh3" || row[1] != "0" || len(row[2]) < 2*shortest {
			continue
		}
		input, err := hex.DecodeString(row[2])
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%x", xxh3(input)); got != row[3] {
			t.Errorf("%s: %s, not %s", row[2], got, row[3])
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("only %d values", compared)
	}
}

// ofOneMember returns a snapshot of one member over so many slots, all of them its own.
func ofOneMember(technique, key string, length, tables int) []byte {
	body := append([]byte{byte(len(technique))}, technique...)
	text := fmt.Sprint(length)
	body = append(append(append(body, 1, byte(len(key))), key...), byte(len(text)))
	body = append(append(body, text...), 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1)
	history := make([]byte, 2*tables*length)
	if tables > 0 {
		history = append(history, 1, 0, 0, 0, 0, 0, 0, 0)
	}
	body = binary.LittleEndian.AppendUint32(body, uint32(len(history)))
	head := append(append([]byte(magic), format, 0), make([]byte, 8+16)...)
	return seal(append(append(append(head, body...), history...), make([]byte, checkLen)...))
}

func TestLengthsThatDivideKeysOfSixteenBitsAreRefused(t *testing.T) {
	for length, right := range map[int]bool{65521: true, 65519: false, 65537: true, 2 * 65519: false} {
		if check(t, ofOneMember("min-move", "slots", length, 2)) != right {
			t.Errorf("min-move of %d slots: %v", length, !right)
		}
	}
	for length, right := range map[int]bool{65521: true, 65519: false, 65536: false} {
		if check(t, ofOneMember("maglev", "entries", length, 0)) != right {
			t.Errorf("maglev of %d entries: %v", length, !right)
		}
	}
}
