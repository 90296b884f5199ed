package objfile

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const signatureSource = `
struct pair { int a; double b; };
typedef struct pair couple;
enum color { RED, BLUE };
static __attribute__((noinline)) int hidden(char c) { return c; }
int ints(signed char a, unsigned short b, long c, enum color d, const char *e) { return a + b + c + d + e[0] + hidden(a); }
couple by_value(struct pair p, float f) { p.b *= f; return p; }
void vary(const char *format, ...) {}
int declared(long x, double y);
inline __attribute__((always_inline)) int inlined(int x) { return x + 1; }
extern int inlined(int x);
int caller(int x) { vary("", x); return declared(x, 2) + inlined(x); }
`

// spellSignature formats a signature.
func spellSignature(s *Signature) string {
	var spell func(t *Type) string
	spell = func(t *Type) string {
		text := map[TypeKind]string{TypeVoid: "void", TypeSigned: "s", TypeUnsigned: "u", TypeFloat: "f", TypePointer: "p", TypeStruct: "{", TypeUnknown: "?" + t.Why}[t.Kind]
		if t.Kind == TypeSigned || t.Kind == TypeUnsigned || t.Kind == TypeFloat {
			text += string(rune('0' + t.Size))
		}
		for _, m := range t.Members {
			text += spell(m.Type)
		}
		if t.Kind == TypeStruct {
			text += "}"
		}
		return text
	}
	out := []string{spell(s.Result)}
	for _, p := range s.Params {
		out = append(out, spell(p))
	}
	if s.Variadic {
		out = append(out, "...")
	}
	if s.Defined {
		out = append(out, "defined")
	}
	return strings.Join(out, " ")
}

func TestSignatures(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"hidden":   "s4 s1 defined",
		"ints":     "s4 s1 u2 s8 u4 p defined",
		"by_value": "{s4f8} {s4f8} f4 defined",
		"vary":     "void p ... defined",
		"declared": "s4 s8 f8",
		"inlined":  "s4 s4 defined",
		"caller":   "s4 s4 defined",
	}
	for _, build := range []string{"gcc -O0 -gdwarf-5", "gcc -O2 -gdwarf-4", "gcc -O2 -g -ffunction-sections", "clang-22 -O1 -gdwarf-5", "clang-22 -O2 -gdwarf-4", "gcc -g -shared -fPIC -Wl,--unresolved-symbols=ignore-all"} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			words := strings.Fields(build)
			if _, err := exec.LookPath(words[0]); err != nil {
				t.Skip(err)
			}
			write(t, dir, "f.c", signatureSource)
			args := append(words[1:], "f.c", "-o", "f.o")
			linked := strings.Contains(build, "-shared")
			if !linked {
				args = append(args, "-c")
			}
			cmd := exec.Command(words[0], args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			path := filepath.Join(dir, "f.o")
			checkSignatures(t, path, want)
			if linked {
				return
			}
			archive := filepath.Join(dir, "libf.a")
			if out, err := exec.Command("ar", "rcs", archive, path).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkSignatures(t, archive, want)
		})
	}
}

func checkSignatures(t *testing.T, path string, want map[string]string) {
	t.Helper()
	got, err := Signatures(path, func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		at := slices.IndexFunc(got, func(s Signature) bool { return s.Name == name })
		if at < 0 {
			t.Errorf("%s: %s is not there", path, name)
		} else if g := spellSignature(&got[at]); g != text {
			t.Errorf("%s: %s: %s, want %s", path, name, g, text)
		}
	}
}

func TestSignaturesMissing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "f.c", signatureSource)
	cmd := exec.Command("gcc", "-c", "f.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := Signatures(filepath.Join(dir, "f.o"), func(string) bool { return true }); !errors.Is(err, ErrNoScopes) {
		t.Errorf("without debug information: %v", err)
	}
	if _, err := Signatures(filepath.Join(dir, "f.c"), func(string) bool { return true }); !errors.Is(err, ErrNotELF) {
		t.Errorf("a source: %v", err)
	}
}

// TestLinkObjects compares the names of objects with nm.
func TestLinkObjects(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{"-O0", "-O2 -ffunction-sections", "-O2 -flto -ffat-lto-objects", "-O2 -flto", "-O1 -shared -fPIC -Wl,--unresolved-symbols=ignore-all"} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, "f.c", signatureSource)
			args := append(strings.Fields(flags), "f.c", "-o", "f.o")
			nm := []string{"-P", "f.o"}
			if strings.Contains(flags, "-shared") {
				nm = append(nm, "-D", "--without-symbol-versions")
			} else {
				args = append(args, "-c")
			}
			cmd := exec.Command("gcc", args...)
			cmd.Dir = dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			list := exec.Command("gcc-nm", nm...) // reads gcc's intermediate code
			list.Dir = dir
			out, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]bool{}
			for line := range strings.Lines(string(out)) {
				f := strings.Fields(line)
				if len(f) > 1 && strings.Contains("TUWt", f[1]) && !strings.HasPrefix(f[0], "_") && !strings.Contains(f[0], ".") {
					want[f[0]] = f[1] != "U"
				}
			}
			objects, err := LinkObjects(filepath.Join(dir, "f.o"))
			if err != nil || len(objects) != 1 {
				t.Fatalf("%d objects, %v", len(objects), err)
			}
			if (objects[0].LTO == GCCLTO) != strings.Contains(flags, "-flto") {
				t.Errorf("LTO %v", objects[0].LTO)
			}
			got := map[string]bool{}
			for _, n := range objects[0].Names {
				got[n.Name] = n.Defined
			}
			if len(want) < 4 {
				t.Fatalf("nm lists only %v", want)
			}
			for name, defined := range want {
				if d, ok := got[name]; !ok || d != defined {
					t.Errorf("%s: there %v, defined %v; nm says %v", name, ok, d, defined)
				}
			}
		})
	}
}

// FuzzSignatures reads damaged objects.
func FuzzSignatures(f *testing.F) {
	dir := f.TempDir()
	write(f, dir, "f.c", signatureSource)
	for _, flags := range []string{"-O1 -gdwarf-5", "-O1 -gdwarf-4", "-O1 -flto"} {
		cmd := exec.Command("gcc", append(strings.Fields(flags), "-c", "f.c", "-o", "f.o")...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			f.Logf("gcc: %v\n%s", err, out)
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, "f.o"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		im, err := readImage("", bytes.NewReader(data), uint64(len(data)), nil)
		if err != nil {
			return
		}
		im.linkObject()
		r := signatureReader{wanted: func(string) bool { return true }, found: map[string]Signature{}}
		if im.Relocatable() {
			r.image(im, "")
		}
	})
}
