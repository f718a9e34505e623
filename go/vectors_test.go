package anabranch

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// vectors returns the lines of each file of vectors/split with that extension.
func vectors(t testing.TB, extension string) map[string][][]string {
	t.Helper()
	paths, err := filepath.Glob("../vectors/split/*" + extension)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	files := make(map[string][][]string)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
			files[path] = append(files[path], strings.Fields(line))
		}
	}
	delete(files, "../vectors/split/requirements.txt")
	return files
}

func unhex(t testing.TB, words []string) []byte {
	t.Helper()
	bytes, err := hex.DecodeString(strings.Join(words, ""))
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

func joined(members []uint16) string {
	return strings.Trim(fmt.Sprint(members), "[]")
}

// picks returns the member of each of some keys in hexadecimal.
func picks(t testing.TB, table *Table, keys []string) string {
	t.Helper()
	members := make([]uint16, len(keys))
	for i, text := range keys {
		key, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		members[i] = table.Pick(key)
	}
	return joined(members)
}

// digest is FNV-1a of 64 bits over entries of two bytes.
func digest(members []uint16) uint64 {
	value := uint64(0xcbf29ce484222325)
	for _, member := range members {
		value = (value ^ uint64(member&0xff)) * 0x100000001b3
		value = (value ^ uint64(member>>8)) * 0x100000001b3
	}
	return value
}

func TestSnapshotsPickWhatTheVectorsSay(t *testing.T) {
	compared := make(map[string]int)
	for path, lines := range vectors(t, ".txt") {
		var keys, revision []string
		var group *Snapshot
		for number, line := range lines {
			verb, words := line[0], line[1:]
			want, got := strings.Join(words, " "), ""
			switch verb {
			case "keys":
				keys = words
			case "group", "update", "start", "drain", "undrain":
				group = nil
			case "revision":
				revision = words
			case "snapshot":
				read, err := Read(unhex(t, words))
				if _, known := plans[lines[0][1]]; !known {
					if err == nil || !strings.Contains(err.Error(), "pass the table to NewTable") {
						t.Errorf("%s:%d: %v", path, number+1, err)
					}
					compared["unknown"]++
					continue
				}
				if err != nil {
					t.Fatalf("%s:%d: %v", path, number+1, err)
				}
				if got := fmt.Sprint(read.Updates, " ", read.Digest); got != strings.Join(revision, " ") {
					t.Errorf("%s:%d: revision %s, not %v", path, number+1, got, revision)
				}
				group = read
			}
			if group == nil {
				continue
			}
			switch verb {
			case "table":
				got = fmt.Sprintf("%d %016x", group.Table.Len(), digest(group.Table.Members()))
			case "entries":
				got = joined(group.Table.Members())
			case "picks":
				got = picks(t, group.Table, keys)
			default:
				continue
			}
			if got != want {
				t.Errorf("%s:%d: %s %s, not %s", path, number+1, verb, got, want)
			}
			compared[verb]++
		}
	}
	if compared["picks"] < 25 || compared["table"] < 25 || compared["entries"] < 5 || compared["unknown"] < 14 {
		t.Errorf("%v", compared)
	}
}

func TestExportedTablesPickWhatTheVectorsSay(t *testing.T) {
	compared := 0
	for path, lines := range vectors(t, ".txt") {
		var keys []string
		var table *Table
		for number, line := range lines {
			verb, words := line[0], line[1:]
			switch verb {
			case "keys":
				keys = words
			case "entries":
				members := make([]uint16, len(words))
				for i, word := range words {
					member, err := strconv.ParseUint(word, 10, 16)
					if err != nil {
						t.Fatal(err)
					}
					members[i] = uint16(member)
				}
				var err error
				if table, err = NewTable(members); err != nil {
					t.Fatal(err)
				}
			case "picks":
				if table == nil {
					continue
				}
				if got, want := picks(t, table, keys), strings.Join(words, " "); got != want {
					t.Errorf("%s:%d: picks %s, not %s", path, number+1, got, want)
				}
				table = nil
				compared++
			}
		}
	}
	if compared < 30 {
		t.Errorf("only %d states have a short table", compared)
	}
}

func TestSnapshotsByHandAreAcceptedAndRefused(t *testing.T) {
	why, verdicts := "", make(map[string]int)
	for _, lines := range vectors(t, ".snapshots") {
		for _, line := range lines {
			if line[0] == "#" {
				why = strings.Join(line[1:], " ")
				continue
			}
			group, err := Read(unhex(t, line[1:]))
			if (err == nil) != (line[0] == "accepted") || (err == nil) != (group != nil) {
				t.Errorf("%s: %v", why, err)
			}
			verdicts[line[0]]++
		}
	}
	if verdicts["accepted"] < 4 || verdicts["refused"] < 45 {
		t.Errorf("%v", verdicts)
	}
}
