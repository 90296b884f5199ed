package probe

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/prof"
)

// TestEdges checks which edges get blocks of their own, and how.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, code, want string }{
		{"if", "test\njne .L2\nmov\n.L2:\nret", "probe test je .w|b nop probe jmp .L2|.w|b probe mov|.L2|b ret"},
		{"else", "test\njne .L2\nmov\njmp .L3\n.L2:\nadd\n.L3:\nret", "probe test jne .L2|b probe mov jmp .L3|.L2|b probe add|.L3|b ret"},
		{"loop", "jmp .L3\n.L2:\nmov\n.L3:\ntest\njne .L2\nret", "probe jmp .L3|.L2|b probe mov|.L3|b test jne .L2|b ret"},
		{"next", "test\njne .L2\nmov\njmp .L4\n.L2:\ntest\nje .L5\n.L4:\nmov\n.L5:\nret", "probe test jne .L2|b probe mov jmp .L4|.L2|b test jne .w|b nop probe jmp .L5|.w|b nop probe|.L4|b mov|.L5|b ret"},
		{"a comment", "test\njne .L2 #\nmov\n.L2:\nret", "probe test je .w|b nop probe jmp .L2|.w|b probe mov|.L2|b ret"},
		{"no opposite", "test\nxbegin .L2\nmov\n.L2:\nret", "probe test xbegin .L2|b probe mov|.L2|b ret"},
		{"to the next block", "test\njne .L2\n.L2:\nret", "probe test jne .L2|.L2|b ret"},
	} {
		out, result := Rewrite(parsePlain(t, tc.code), Options{Mode: prof.ModeBlock})
		if got := edgeText(string(out)); got != tc.want {
			t.Errorf("%s: got  %s\nwant %s\n%s", tc.name, got, tc.want, out)
		}
		if labels := strings.Count(edgeText(string(out)), "|b"); labels+1 != result.Blocks {
			t.Errorf("%s: %d blocks, and %d labels", tc.name, result.Blocks, labels)
		}
	}
	optimised, err := isa.Parse([]byte(".text\n.type f, @function\nf:\ntest\njne .L2\nmov\n.L2:\nret\n"), machine.X86_64)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := Rewrite(optimised, Options{Mode: prof.ModeBlock}); bytes.Contains(out, []byte("nop")) {
		t.Errorf("optimised code has blocks of edges:\n%s", out)
	}
	if out, _ := Rewrite(parsePlain(t, "test\njne .L2\nmov\n.L2:\nret"), Options{Mode: prof.ModeCover}); bytes.Contains(out, []byte("nop")) {
		t.Errorf("mode cover has blocks of edges:\n%s", out)
	}
}

// edgeText returns the code of f in short: the words of instructions, and b for the label of a block.
func edgeText(out string) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		if strings.HasPrefix(rest, ".Lcairn_w") {
			rest = ".w"
		}
		switch {
		case strings.HasPrefix(line, ".Lcairn_e"):
			return strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(b.String()), " |", "|"), "||", "|")
		case strings.HasPrefix(line, ".Lcairn_w"):
			b.WriteString("|.w|")
		case strings.HasPrefix(line, ".Lcairn_b"):
			b.WriteString("|b ")
		case strings.HasPrefix(line, ".L") && !strings.HasPrefix(line, ".Lcairn"):
			b.WriteString("|" + strings.TrimSuffix(line, ":") + "|")
		case line == "" || line[0] == '.' || line == "f:":
		case word == "movb":
			b.WriteString("probe ")
		case word[0] == 'j' || word == "xbegin":
			b.WriteString(strings.TrimSpace(word+" "+strings.TrimSuffix(rest, " #")) + " ")
		default:
			b.WriteString(word + " ")
		}
	}
	return ""
}

// TestRepeated has a loop, what is before and behind it, and code that is entered by ways that are not known.
func TestRepeated(t *testing.T) {
	t.Parallel()
	n := func(blocks ...int) (nodes []int) {
		for _, b := range blocks {
			nodes = append(nodes, asm.Nodes+b)
		}
		return nodes
	}
	for _, tc := range []struct {
		name    string
		entered []int // besides block 0
		succs   [][]int
		want    string
	}{
		{"straight", nil, [][]int{n(1, 2), n(3), n(3), {asm.NodeOut}}, "...."},
		{"loop", nil, [][]int{n(1), n(2), n(1, 3), {asm.NodeOut}}, ".12."},
		{"itself", nil, [][]int{n(1), n(1, 2), {asm.NodeOut}}, ".1."},
		{"irreducible", nil, [][]int{n(1, 2), n(2), n(1, 3), {asm.NodeOut}}, ".12."},
		// A landing of exceptions, behind which a loop begins again: what it is left by leads to it.
		{"landing", n(2), [][]int{n(1), {asm.NodeOut, n(3)[0]}, n(1), {asm.NodeOut}}, ".123"},
		{"landing outside", n(2), [][]int{n(1), {asm.NodeOut}, {asm.NodeOut}}, "..2"},
	} {
		g := &asm.Graph{Succs: make([][]int, asm.Nodes)}
		g.Succs[asm.NodeIn] = append(n(0), tc.entered...)
		g.Succs = append(g.Succs, tc.succs...)
		got := ""
		for b, again := range repeated(g) {
			if again {
				got += strconv.Itoa(b)
			} else {
				got += "."
			}
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}
