package wrap

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

func TestSplitNames(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"malloc":                           "malloc",
		" malloc , free,":                  "malloc|free",
		"a::f(int, char),g":                "a::f(int, char)|g",
		"m<int, long>::f(),g":              "m<int, long>::f()|g",
		"operator<(A, B),f":                "operator<(A, B),f", // a bracket that is none: nothing is split after it
		"f((anonymous namespace)::T, int)": "f((anonymous namespace)::T, int)",
	} {
		got, err := SplitNames(list)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%q: %q, %v; want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"", " , ", "f(int"} {
		if got, err := SplitNames(list); err == nil {
			t.Errorf("%q: %q, want an error", list, got)
		}
	}
}

func TestParsePrototype(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"void *malloc(size_t)": "void *|unsigned long",
		"void free(void *p);":  "void|void *",
		"int f()":              "int",
		"int f(void)":          "int",
		"extern const char *\n name ( int a , char b [ ] )":                                "void *|int|void *",
		"unsigned long long f(unsigned, long double x, _Bool flag, bool)":                  "unsigned long long|unsigned|long double|_Bool|_Bool",
		"void qsort(void *, size_t n, size_t, int (*compare)(const void *, const void *))": "void|void *|unsigned long|unsigned long|void *",
		"struct stat *f(enum kind k, const struct s *p)":                                   "void *|int|void *",
		"static inline int f(const int x)":                                                 "int|int",
	} {
		f, err := ParsePrototype(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := strings.Join(append([]string{f.Result}, f.Params...), "|"); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"":                             "must be RESULT NAME(TYPE, TYPE)",
		"malloc(size_t)":               "must be RESULT NAME",
		"int printf(const char*, ...)": "variable number",
		"int f(struct s x)":            "passed by value",
		"int f(widget w)":              `unknown type "widget"`,
		"widget f(int)":                `unknown type "widget"`,
		"int f(int, void)":             "void is not a parameter type",
		"int f(int,)":                  "a type is missing",
		"int f(a::b x)":                "is not a C type",
	} {
		if f, err := ParsePrototype(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, f, err, want)
		}
	}
}

func FuzzParsePrototype(f *testing.F) {
	f.Add("void *malloc(size_t)")
	f.Add("int f(int (*)(void), char [3], struct s *)")
	f.Fuzz(func(t *testing.T, text string) {
		fn, err := ParsePrototype(text)
		if err != nil {
			return
		}
		// What is taken is C of few words.
		for _, p := range append(fn.Params, fn.Result) {
			if strings.ContainsAny(p, "();{}#\"/\\") {
				t.Errorf("%q: type %q", text, p)
			}
		}
	})
}

// The prototypes that are built in have no header to hold them against; the
// tests of the command compile and run them.
func TestKnown(t *testing.T) {
	t.Parallel()
	for _, name := range strings.Fields("malloc calloc realloc free read write open close fopen fread fwrite mmap munmap poll select nanosleep pthread_mutex_lock") {
		if Known(name) == nil {
			t.Errorf("%s is not known", name)
		}
	}
	for name := range known() {
		if why := Refused(name); why != "" {
			t.Errorf("%s is known and refused: %s", name, why)
		}
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	have := []string{"main", "_ZN1AC1Ei", "_ZN1AC2Ei", "_ZN2ns1fEd", "_ZN2ns1fEi", "_ZN2ns1gEii", "_Z3putv"}
	for name, want := range map[string]string{
		"malloc": "malloc", "main": "main", "_ZN1AC1Ei": "_ZN1AC1Ei",
		"A::A": "_ZN1AC1Ei _ZN1AC2Ei", "A::A(int)": "_ZN1AC1Ei _ZN1AC2Ei",
		"ns::f(double)": "_ZN2ns1fEd", "ns::g": "_ZN2ns1gEii", "ns::g(int,int)": "_ZN2ns1gEii", "put": "_Z3putv",
		"ns::f": "error", "ns::h": "error",
	} {
		got, err := Resolve(name, have)
		if err != nil {
			got = []string{"error"}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v; want %s", name, got, err, want)
		}
	}
}

// An object with a hostile name makes no code of it.
func TestTextOfNames(t *testing.T) {
	t.Parallel()
	s := objfile.Signature{Name: "f", Result: &objfile.Type{Kind: objfile.TypeStruct, Name: `x" */ int main`, Size: 4, Members: []objfile.Member{{Type: &objfile.Type{Kind: objfile.TypeSigned, Size: 4}}}}, Known: true}
	f, err := FromSignature(&s, "a */ b")
	if err != nil {
		t.Fatal(err)
	}
	text := Text([]*Function{f}, nil, Kind{})
	s.Name = "f,--version"
	if f, err := FromSignature(&s, ""); err == nil {
		t.Errorf("a name that is none: %+v", f)
	}
	if strings.Contains(text, "main") || strings.Count(text, "*/") != strings.Count(text, "/*") {
		t.Errorf("names get into the code:\n%s", text)
	}
}

func TestAnalyse(t *testing.T) {
	t.Parallel()
	object := func(path string, names ...objfile.LinkName) objfile.LinkObject {
		return objfile.LinkObject{Path: path, Names: names}
	}
	defined := objfile.LinkName{Name: "f", Defined: true, Calls: 2, From: []string{"g"}}
	needed := objfile.LinkName{Name: "f"}
	for _, test := range []struct {
		name  string
		link  Link
		fatal bool
		want  string // of one finding; "": none
	}{
		{"called from elsewhere", Link{Objects: []objfile.LinkObject{object("a.o", needed), object("b.o", objfile.LinkName{Name: "f", Defined: true})}}, false, ""},
		{"called at home as well", Link{Objects: []objfile.LinkObject{object("a.o", needed), object("b.o", defined)}}, false, "2 uses are not wrapped, in g: b.o"},
		{"with lld", Link{LLD: true, Objects: []objfile.LinkObject{object("b.o", defined)}}, false, ""},
		{"called at home only", Link{Objects: []objfile.LinkObject{object("b.o", defined)}}, true, "only b.o, which defines it"},
		{"unseen", Link{Unseen: []string{"x.c"}, Objects: []objfile.LinkObject{object("b.o")}}, false, "x.c could not be read"},
		{"static", Link{Objects: []objfile.LinkObject{object("b.o", objfile.LinkName{Name: "f", Defined: true, Local: true})}}, true, "static in b.o"},
		{"library", Link{Objects: []objfile.LinkObject{{Path: "/x/libu.so", Shared: true, Names: []objfile.LinkName{needed}}}}, true, "only libu.so calls it"},
		{"chk", Link{Objects: []objfile.LinkObject{object("a.o", objfile.LinkName{Name: "__f_chk"})}}, true, "a.o calls __f_chk; wrap that"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := test.link.Analyse("f")
			if test.want == "" {
				if len(got) > 0 {
					t.Errorf("%+v, want nothing", got)
				}
				return
			}
			if !slices.ContainsFunc(got, func(f Finding) bool { return f.Fatal == test.fatal && strings.Contains(f.Text, test.want) }) {
				t.Errorf("%+v, want %q", got, test.want)
			}
		})
	}
}
