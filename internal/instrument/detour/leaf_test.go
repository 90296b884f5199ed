package detour_test

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/detour"
)

// TestLeaf has functions that need no unwind information, and code that may look so.
func TestLeaf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code string
		want int
	}{
		{"8d04 49 c3 cc cc", 4},               // lea (%rcx,%rcx,2), %eax; ret
		{"85c9 7403 31c0 c3 ffc0 c3", 10},     // both ways of a branch
		{"85c9 75fc c3 90", 5},                // a loop
		{"89c8 e900100000 cc", 7},             // its last instruction jumps to another function
		{"894c2408 8b442408 c3", 9},           // the home space of its argument
		{"4883e40f c3", 0},                    // and $15, %rsp
		{"4883e10f c3", 5},                    // and $15, %rcx
		{"4889e0 c3", 0},                      // mov %rsp, %rax: where the return address is
		{"488b0424 c3", 0},                    // mov (%rsp), %rax
		{"488d442408 488901 c3", 9},           // lea 8(%rsp), %rax
		{"e900100000", 0},                     // only a jump
		{"ff2500100000", 0},                   // an import
		{"31c0 ffe1", 0},                      // a computed jump
		{"31c0 0f8400100000 c3", 0},           // a branch elsewhere
		{"e800100000 c3", 0}, {"50 58 c3", 0}, // a call; a push
		{"4883ec28 4883c428 c3", 0}, {"c20800", 0}, // a frame; ret 8
		{"4887e1 c3", 0}, {"31c0", 0}, {"06 c3", 0}, // xchg %rsp, %rcx; no end; no instruction
		{"4889c8 4894 c3", 0}, {"4889c8 4994 c3", 6}, // xchg %rsp, %rax; xchg %r12, %rax
		{"bc00100000 c3", 0}, {"41bc00100000 c3", 7}, // mov $4096, %esp; mov $4096, %r12d
		{"480f44e1 c3", 0}, {"0fa0 0fa1 c3", 0}, {"480fcc c3", 0}, // cmove %rcx, %rsp; push and pop %fs; bswap %rsp
		{"0f28e1 c3", 4}, {"0fb6c1 c3", 4}, // movaps %xmm1, %xmm4; movzbl %cl, %eax
		{"31c0 0f0b", 4}, {"31c0 c3 06 06 06 06", 3}, // ud2; what is behind its end is not read
	} {
		code, err := hex.DecodeString(strings.ReplaceAll(c.code, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if got := detour.Leaf(code, 0x1000); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.code, got, c.want)
		}
	}
	for text, want := range map[string]bool{"488b5910 488b6918 c3": true, "488b5910 5b c3": false, "31c0 c3 90 90": false, "31c0": false} {
		code, _ := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
		if got := detour.BeginsAsLeaf(code); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
