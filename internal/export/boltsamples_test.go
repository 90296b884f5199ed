package export

import (
	"bytes"
	"testing"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/sample"
)

func TestBoltSamples(t *testing.T) {
	t.Parallel()
	symbols := []Symbol{
		{Name: "main", Addr: 0x1000, Size: 0x20},
		{Name: "alias", Addr: 0x1040, Size: 0x10, Ordinal: 2},
		{Name: "f", Addr: 0x1040, Size: 0x10},
		{Name: "part.cold", Addr: 0x1050, Size: 8, Ordinal: 1},
	}
	branches := []sample.BranchCount{
		{Branch: sample.Branch{From: 0x1005, To: 0x1040}, Count: 7},
		{Branch: sample.Branch{From: 0x104f, To: 0x100a}, Count: 6}, // a return
		{Branch: sample.Branch{From: 0x1044, To: 0x1050}, Count: 5},
		{Branch: sample.Branch{From: 0, To: 0x1000}, Count: 4},      // from another binary
		{Branch: sample.Branch{From: 0x1030, To: 0x1000}, Count: 3}, // from no function
		{Branch: sample.Branch{From: 0x1005, To: 0x1030}, Count: 2}, // to none
		{Branch: sample.Branch{From: 0x1005, To: 0xfff}, Count: 1},
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
