package export

import (
	"bytes"
	"testing"

	"github.com/cairnprof/cairn/format/fdata"
)

func TestBoltSamples(t *testing.T) {
	t.Parallel()
	symbols := []Symbol{
		{Name: "main", Addr: 0x1000, Size: 0x20},
		{Name: "alias", Addr: 0x1040, Size: 0x10, Ordinal: 2},
		{Name: "f", Addr: 0x1040, Size: 0x10},
		{Name: "part.cold", Addr: 0x1050, Size: 8, Ordinal: 1},
	}
	branches := []Branch{
		{0x1005, 0x1040, 7},
		{0x104f, 0x100a, 6}, // a return
		{0x1044, 0x1050, 5},
		{0, 0x1000, 4},      // from another binary
		{0x1030, 0x1000, 3}, // from no function
		{0x1005, 0x1030, 2}, // to none
		{0x1005, 0xfff, 1},
	}
	var got bytes.Buffer
	if err := fdata.WriteBranches(&got, BoltSamples(branches, symbols)); err != nil {
		t.Fatal(err)
	}
	want := `1 main 5 1 f 0 0 7
1 f f 1 main a 0 6
1 f 4 1 part.cold/1 0 0 5
0 [unknown] 0 1 main 0 0 4
0 [unknown] 0 1 main 0 0 3
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", &got, want)
	}
}
