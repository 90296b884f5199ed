package mip_test

import (
	"bytes"
	"fmt"
	"os"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

func ExampleParseRaw() {
	file, _ := mip.AppendRaw(nil, mip.Raw{BuildID: "\xca\x1c", PID: 42, Size: 8, Data: []byte{1, 0, 1}})
	raw, err := mip.ParseRaw(file)
	fmt.Println(raw.BuildID, raw.PID, raw.Size, raw.Data, err)
	_, err = mip.ParseRaw(file[:len(file)-1])
	fmt.Println(err)
	// Output:
	// ca1c 42 8 [1 0 1] <nil>
	// damaged raw file: at offset 0x5a: truncated: the header says 91 bytes
}

func ExampleWriteText() {
	mip.WriteText(os.Stdout, &prof.Profile{Modules: []prof.Module{{
		Map: prof.Map{
			BuildID: "\xca\x1c", Module: "app", RawAddr: 0x4000, RawSize: 1,
			Funcs: []prof.Func{{Name: "main", File: "app.c", Mode: prof.ModeCover, Fragments: []prof.Fragment{{Addr: 0x1000, Size: 25}}}},
		},
		Raws:   3,
		Counts: []prof.Counts{{Runs: 3}},
	}}})
	// Output:
	// cairn: profile
	// version: 1
	// modules:
	//   - module: app
	//     build_id: ca1c
	//     raw_addr: 0x4000
	//     raw_size: 1
	//     raws: 3
	//     functions:
	//       - name: main
	//         file: app.c
	//         mode: cover
	//         signature: 0x0
	//         record: 0x0
	//         code:
	//           - addr: 0x1000
	//             size: 25
	//         runs: 3
}

func ExampleReadMap() {
	var file bytes.Buffer
	mip.WriteMap(&file, &prof.Map{BuildID: "\xca\x1c", Module: "app"})
	m, err := mip.ReadMap(file.Bytes())
	fmt.Println(m.Module, m.BuildID, err)
	// Output: app ca1c <nil>
}
