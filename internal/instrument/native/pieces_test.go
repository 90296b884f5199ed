package native

import (
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// TestPieces checks which code is a function: what calls enter, whatever its name
// is, and not what its function goes on to.
func TestPieces(t *testing.T) {
	t.Parallel()
	const code = `.text
.type f, @function
f:
	je .L5
	call f.part.0
	call f.cold.1
.L2:
	ret
.type f.cold, @function
f.cold:
.L5:
	jmp .L2
.type f.part.0, @function
f.part.0:
	je .L7
	ret
.type f.part.0.cold, @function
f.part.0.cold:
.L7:
	call abort
.type f.cold.1, @function
f.cold.1:
	ret
.type lost.cold, @function
lost.cold:
	jmp .L9
`
	u, err := isa.Parse([]byte(code), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, fn := range u.Funcs {
		s := fn.Name + ":"
		for _, fr := range fn.Frags {
			s += " " + fr.Name
		}
		got = append(got, s)
	}
	want := []string{"f: f f.cold", "f.part.0: f.part.0 f.part.0.cold", "f.cold.1: f.cold.1", "lost.cold: lost.cold"}
	if !slices.Equal(got, want) {
		t.Errorf("functions %q, want %q", got, want)
	}
	if _, result := Rewrite(u, probe.Options{Mode: prof.ModeFull}); result.Functions != 3 || len(result.Skipped) != 1 || result.Skipped[0].Reason != probe.SkipOrphan {
		t.Errorf("%d functions, left alone %v", result.Functions, result.Skipped)
	}
}
