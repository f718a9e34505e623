package anabranch_test

import (
	"fmt"
	"os"

	"anabranch"
)

// A program that another one sends snapshots to, here as a file.
func ExampleRead() {
	snapshot, err := os.ReadFile("group.snapshot")
	if err != nil {
		return
	}
	group, err := anabranch.Read(snapshot)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(group.Table.Pick(0x9e3779b97f4a7c15))
}

// A table that was exported: nine slots of the weights 4, 3 and 2.
func ExampleNewTable() {
	table, err := anabranch.NewTable([]uint16{0, 0, 0, 0, 1, 1, 1, 2, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Pick(4), table.Pick(1<<32+8), table.Pick(9))
	// Output: 1 2 0
}
