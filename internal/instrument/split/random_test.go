package split

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
)

// TestRandom has a loop with three branches over an instruction, and with a jump away and back that another order saves. If the three go
// either way as often, the function stays as it is and nothing in it is copied; if they mostly go one way, or calls are between them, it does not.
func TestRandom(t *testing.T) {
	t.Parallel()
	const (
		coin = "\tshrl\t%edi\n\tjc\t.LN\n\tincl\t%eax\n.LN:\n"
		text = "\t.file\t\"a.c\"\n\t.text\n\t.p2align 4\n\t.type\tf, @function\nf:\n\txorl\t%eax, %eax\n.L2:\n" +
			"COINS\tdecl\t%ecx\n\tjne\t.L6\n\tret\n.L6:\nCALL\taddl\t$3, %esi\n\tjmp\t.L2\n\t.size\tf, .-f\n"
	)
	for name, test := range map[string]struct {
		call   string
		times  uint64 // that the instruction behind a branch runs, of 1000
		random bool
	}{
		"coins":        {"", 500, true},
		"mostly one":   {"", 950, false},
		"mostly other": {"", 50, false},
		"with calls":   {"\tcall\tg\n", 500, false},
	} {
		coins := ""
		for _, label := range []string{".L3", ".L4", ".L5"} {
			coins += strings.ReplaceAll(coin, ".LN", label)
		}
		src := strings.NewReplacer("COINS", coins, "CALL", test.call).Replace(text)
		unit, err := isa.Parse([]byte(src), machine.X86_64)
		if err != nil {
			t.Fatal(err)
		}
		n := test.times
		flow := &Flow{
			Times: []uint64{10, 1000, n, 1000, n, 1000, n, 1000, 10, 990},
			Edges: []Edge{
				{0, 1, 10},
				{1, 2, n},
				{1, 3, 1000 - n},
				{2, 3, n},
				{3, 4, n},
				{3, 5, 1000 - n},
				{4, 5, n},
				{5, 6, n},
				{5, 7, 1000 - n},
				{6, 7, n},
				{7, 8, 10},
				{7, 9, 990},
				{9, 1, 990},
			},
		}
		out, result := Split(unit, func(f FuncInfo) ([]bool, bool) { return make([]bool, f.Blocks), true },
			Options{Flow: func(FuncInfo) *Flow { return flow }, Executed: copiedShare})
		stays := !slices.Contains(result.Ordered, "f") && result.Copied == 0
		if len(result.Refused) > 0 || stays != test.random || test.random && string(out) != src {
			t.Errorf("%s: ordered %v, copied %d, refused %v, in\n%s", name, result.Ordered, result.Copied, result.Refused, out)
		}
	}
}
