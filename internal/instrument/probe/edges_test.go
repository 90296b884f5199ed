package probe

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
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
