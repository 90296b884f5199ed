package sampleprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func text(t testing.TB, f *File) string {
	t.Helper()
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func read(t testing.TB, s string) *File {
	t.Helper()
	f, err := Read(strings.NewReader(s))
	if err != nil {
		t.Fatalf("%v in\n%s", err, s)
	}
	return f
}

const (
	flatText = `# a comment
main:1126:3
 1: 1000
 2.3: 40 _ZL4sortv:39 -[NS sort:by:]:1
 4: _ZL1fi.__uniq.123:86
  1: 77
  65530.1: g:9
   2: 9
   !CFGChecksum: 18446744073709551615
  !CFGChecksum: 7
  !Attributes: 1
 !CFGChecksum: 281479271677951

g:18446744073709551615:4
 0: 7
 !CFGChecksum: 18446744073709551615
`
	otherText = `main:20:1
 1: 10
 3: 10 g:10
 4: _ZL1fi.__uniq.123:5
  1: 5
  !CFGChecksum: 8
 4: h:6
  1: 6
  !CFGChecksum: 9
  !Attributes: 3
 !CFGChecksum: 281479271677951
g:18:4
 0: 18446744073709551610
 !CFGChecksum: 18446744073709551615
late:3:3
 1: 3
 !CFGChecksum: 1
 !Attributes: 2
`
	callersText = `[main:5 @ mid:2.1 @ leaf]:47424:1546
 1: 1546
 2: 15280
 !CFGChecksum: 107105011060
 !Attributes: 2
[main]:10071:0
 5: 1546 mid:1546
 !CFGChecksum: 844528116649940
`
	otherCallers = `[main:5 @ leaf]:4:1
 1: 1
 !CFGChecksum: 107105011060
[main:5 @ mid:2.1 @ leaf]:4:1
 1: 1
 !CFGChecksum: 107105011060
 !Attributes: 1
[main]:7:7
 5: 7
 !CFGChecksum: 3
`
)

// TestMergeAgainstLLVM compares sums with those of llvm-profdata.
func TestMergeAgainstLLVM(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("llvm-profdata-22"); err != nil {
		t.Skip(err)
	}
	for name, c := range map[string]struct {
		inputs  []string
		differ  int
		weights []string // of the first inputs
	}{
		"one":      {[]string{flatText}, 0, nil},
		"twice":    {[]string{flatText, flatText}, 0, nil},
		"nested":   {[]string{flatText, otherText}, 1, nil},
		"reversed": {[]string{otherText, flatText}, 1, nil},
		"weights":  {[]string{flatText, otherText, flatText}, 1, []string{"3", "18446744073709551615"}},
		"contexts": {[]string{callersText, otherCallers, callersText}, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			args := []string{"merge", "--sample", "--text", "-o", filepath.Join(dir, "sum")}
			m, differ := Merger{}, 0
			for i, s := range c.inputs {
				path := filepath.Join(dir, string(rune('a'+i)))
				if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
					t.Fatal(err)
				}
				f := read(t, s)
				if i < len(c.weights) {
					weight, err := strconv.ParseUint(c.weights[i], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					f.Scale(weight)
					args = append(args, "--weighted-input="+c.weights[i]+","+path)
				} else {
					args = append(args, path)
				}
				n, err := m.Add(f)
				if err != nil {
					t.Fatal(err)
				}
				differ += n
			}
			if out, err := exec.Command("llvm-profdata-22", args...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			want, err := os.ReadFile(filepath.Join(dir, "sum"))
			if err != nil {
				t.Fatal(err)
			}
			if got := text(t, m.Sum()); got != string(want) {
				t.Errorf("sum:\n%s\nllvm-profdata:\n%s", got, want)
			}
			if differ != c.differ {
				t.Errorf("%d functions differ, want %d", differ, c.differ)
			}
		})
	}
}

func TestMergeMixed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, second string
		want          error
	}{
		{flatText, callersText, ErrContexts},
		{"f:1:1\n 1: 1\n", otherText, ErrKeys},
	} {
		var m Merger
		if _, err := m.Add(read(t, c.first)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Add(read(t, c.second)); err != c.want {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	var deep strings.Builder
	deep.WriteString("f:1:1\n")
	for i := 1; i <= maxDepth; i++ {
		deep.WriteString(strings.Repeat(" ", i) + "1: f:1\n")
	}
	for in, want := range map[string]string{
		"":                              "empty file",
		"main\n":                        "line 1: expected a function",
		"main:1\n":                      "line 1: expected a function",
		":1:1\n":                        "line 1: expected a function",
		"!CFGChecksum: 3:1\n":           "line 1: expected a function",
		"main:99999999999999999999:1\n": "line 1: expected a function",
		" 1: 5\n":                       "line 1: indented by 1 blanks",
		"m:1:1\n  1: 5\n":               "line 2: indented by 2 blanks",
		"m:1:1\n x: 5\n":                "line 2: expected a location",
		"m:1:1\n 65536: 5\n":            "line 2: expected a location",
		"m:1:1\n 1.x: 5\n":              "line 2: expected a location",
		"m:1:1\n 1: \n":                 "line 2: expected a location",
		"m:1:1\n 1: 5x\n":               `line 2: expected a count, not "5x"`,
		"m:1:1\n 1: 5 f\n":              `line 2: expected a call and its count, not "f"`,
		"m:1:1\n 1: 5 :5\n":             "line 2: a call of a function without a name",
		"m:1:1\n 1: f\n":                "line 2: expected a count, or a nested function",
		"m:1:1\n 1: <vtables> v:3\n":    "line 2: expected a count, or a nested function",
		"m:1:1\n !Flat\n":               `line 2: unknown metadata "!Flat"`,
		"m:1:1\n !Attributes: 256\n":    "line 2: ",
		"m:1:1\n 1: " + strings.Repeat("7", 99) + "\n": `line 2: expected a count, not "` + strings.Repeat("7", 60) + `"`,
		"main:111:11\na\x00b:1:1\n":                    "line 2: contains control characters",
		"m:1:1\n[m]:1:1\n":                             "line 2: some functions have contexts",
		"[m:1 @ ]:1:1\n":                               "line 1: expected a context",
		"[m @ f]:1:1\n":                                "line 1: expected a context",
		"[m:x @ f]:1:1\n":                              "line 1: expected a context",
		"[m:1:1\n":                                     "line 1: expected a context",
		deep.String():                                  "line 4097: more than 4096 functions are nested",
		"[" + strings.Repeat("f:1 @ ", maxDepth) + "f]:1:1\n": "line 1: a context of more than 4096 functions",
		"\x7fELF\x02\x01\x01\x00\x00":                         "not a sample profile",
		"\x83\xe4\xd0\xb1\xf4\xc9\x94\xa8\x53\x67":            "not a sample profile", // LLVM's old gcc format
		"f:1:1\n 1: " + strings.Repeat("x", maxLine):          "line 2: ",
	} {
		if _, err := Read(strings.NewReader(in)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.40q: %v, want %s", in, err, want)
		}
	}
}

// FuzzRead checks that a profile that is read and written as text has the same contents.
func FuzzRead(f *testing.F) {
	for _, s := range []string{flatText, otherText, callersText, otherCallers, "a b:1:2\n 1.4: 5 6:7\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil || len(p.Contexts) == 0 {
			return
		}
		first := text(t, p)
		if second := text(t, read(t, first)); second != first {
			t.Errorf("written:\n%s\nand again:\n%s", first, second)
		}
	})
}
