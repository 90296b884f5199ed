package machinecode

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const virtualCalls = `
static int id(int x) { return x; }
int (*volatile pointer)(int) = id;
struct Base {
  virtual ~Base() {}
  virtual int one(int x) { return x; }
  virtual int two(int x) = 0;
  int through(int x) { return two(x) + 1; }        // by this
  int last(int x) { return two(x * 3); }           // the same, by a jump
  __attribute__((used)) int other(int x) { return pointer(x) + 1; }      // not virtual
};
struct Derived : Base {
  int two(int x) override { return x + 2; }
};
struct Side { virtual long three() { return 3; } };
struct Both : Derived, Side {
  int one(int x) override { return x * 5; }
  long three() override { return 33; }
};
int called(Base *b, int x) { return b->one(x) + b->two(x); }
int cases(int x, Base *b) {
  switch (x) {
  case 0: return b->one(1);
  case 1: return b->two(2);
  case 2: return x * 77;
  case 3: return x / 3;
  case 4: return x % 5;
  case 5: return b->one(b->two(7));
  case 6: return x * 3 + 1;
  case 7: return x * 5 + 2;
  case 8: return x / 7;
  case 9: return x * x;
  case 10: return x % 11;
  case 11: return b->two(11);
  case 12: return x * x * x;
  case 13: return x / 13 + 4;
  default: return -1;
  }
}
int main(int argc, char **argv) {
  Both both; Derived derived;
  Base *b = argc > 1 ? &both : &derived;
  Side *s = &both;
  return called(b, 1) + b->through(2) + b->last(3) + b->other(1) + cases(argc, b) + s->three();
}
`

// TestDispatches compiles virtual calls and finds them, and their tables.
func TestDispatches(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"g++", "clang++-22", "aarch64-linux-gnu-g++", "clang++-22 --target=aarch64-linux-gnu"} {
		for _, level := range []string{"-O1", "-O2"} {
			t.Run(compiler+level, func(t *testing.T) {
				t.Parallel()
				s := compileVirtual(t, compiler, level, "-fno-inline", "-fno-devirtualize", "-fno-omit-frame-pointer", "-fno-stack-protector")
				b := s.Binaries()[0]
				const one, two = 16, 24 // after two destructors
				for name, want := range map[string][]Dispatch{
					"_ZN4Base7throughEi": {{FromTable, two, true}},
					"_ZN4Base4lastEi":    {{FromTable, two, true}},
					"_ZN4Base5otherEi":   {{FromPointer, 0, false}},
					"_Z6calledP4Basei":   {{FromTable, one, true}, {FromTable, two, true}},
				} {
					if got := dispatchesOf(t, s, name); !slices.Equal(got, want) {
						t.Errorf("%s: %v, want %v", name, got, want)
					}
				}
				for i, d := range dispatchesOf(t, s, "_Z5casesiP4Base") {
					if d.This || (d.Source == FromCases) != (i == 0) {
						t.Errorf("case %d: %v", i, d)
					}
				}
				for _, v := range b.VirtualTables() {
					if v.Class == "4Both" {
						checkBoth(t, b, &v)
					}
				}
			})
		}
	}
}

func checkBoth(t *testing.T, b *Binary, v *VirtualTables) {
	t.Helper()
	if !v.Known || v.Open || !slices.Equal(v.Bases, []string{"7Derived", "4Side"}) || len(v.Tables) != 2 {
		t.Fatalf("%+v", v)
	}
	for table, entries := range [][]string{
		{"", "_ZN4BothD0Ev", "_ZN4Both3oneEi", "_ZN7Derived3twoEi", "_ZN4Both5threeEv"}, // the first may be that of the base
		{"_ZThn8_N4Both5threeEv"},
	} {
		for k, want := range entries {
			at := v.Tables[table].Start + uint64(8*k)
			if p := b.Pointers(at, at+1); len(p) != 1 || want != "" && !slices.Contains(b.Names(p[0].To), want) {
				t.Errorf("table %d, entry %d: %v, want %s", table, k, p, want)
			}
		}
	}
}

func dispatchesOf(t *testing.T, s *Set, name string) (out []Dispatch) {
	t.Helper()
	b := s.Binaries()[0]
	for i := range b.Ranges() {
		r := &b.Ranges()[i]
		if !slices.Contains(b.Names(r.Lo), name) {
			continue
		}
		found := s.Dispatches(b, r)
		for at := b.From(r.Lo); at < b.From(r.Hi); at++ {
			if d, ok := found[at]; ok {
				out = append(out, d)
			}
		}
		return out
	}
	t.Fatalf("no %s", name)
	return nil
}

func compileVirtual(t *testing.T, compiler string, flags ...string) *Set {
	t.Helper()
	dir := t.TempDir()
	source, program := filepath.Join(dir, "virtual.cc"), filepath.Join(dir, "virtual")
	if err := os.WriteFile(source, []byte(virtualCalls), 0o600); err != nil {
		t.Fatal(err)
	}
	if strings.HasPrefix(compiler, "clang") {
		flags = slices.DeleteFunc(flags, func(f string) bool { return f == "-fno-devirtualize" })
	}
	words := strings.Fields(compiler)
	if out, err := exec.CommandContext(t.Context(), words[0], append(append(words[1:], flags...), "-o", program, source)...).CombinedOutput(); err != nil {
		_, cross := exec.LookPath("aarch64-linux-gnu-g++")
		if _, missing := exec.LookPath(words[0]); missing != nil || len(words) > 1 && cross != nil {
			t.Skip("tools")
		}
		t.Fatalf("%v\n%s", err, out)
	}
	_, s := load(t, program)
	return s
}
