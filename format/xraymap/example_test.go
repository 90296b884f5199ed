package xraymap_test

import (
	"fmt"
	"os"

	"github.com/cairnprof/cairn/format/xraymap"
)

// A table of version 2, at address 0x1000: addresses are relative to the field
// that they are in.
func ExampleRead() {
	table := []byte{
		0x10, 1, 0, 0, 0, 0, 0, 0, 0x08, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
		0x00, 1, 0, 0, 0, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	}
	m, err := xraymap.Read(xraymap.Section{Data: table, Addr: 0x1000, Word: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range m.Sleds {
		fmt.Printf("function %d at %#x: %v at %#x\n", s.Func, s.Function, s.Kind, s.Address)
	}
	// Output:
	// function 1 at 0x1110: function-enter at 0x1110
	// function 1 at 0x1110: function-exit at 0x1120
}

func ExampleReadYAML() {
	m, err := xraymap.ReadYAML([]byte("- { id: 7, address: 0x24610, function: 0x24610, kind: function-enter, function-name: main }"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range m.Functions() {
		fmt.Println(f.ID, f.Name)
	}
	// What is not given is false and version 0, as llvm-xray has it.
	if err := xraymap.WriteYAML(os.Stdout, m); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 7 main
	// ---
	// - { id: 7, address: 0x24610, function: 0x24610, kind: function-enter, always-instrument: false, function-name: main }
	// ...
}
