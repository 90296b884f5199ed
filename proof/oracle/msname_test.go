//go:build linux && amd64

package oracle

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/msname"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// mangledMS is a name of MSVC's C++ in assembly.
var mangledMS = regexp.MustCompile(`"(\?[^"]+)"`)

// convention is that of a function type, which llvm-undname shows in some places.
var convention = regexp.MustCompile(`__(cdecl|thiscall)\(`)

// dataMS are the names of data that compilers make, which cairn does not read: tables, strings, guards.
var dataMS = regexp.MustCompile(`^\?\?(_[78CBSR]|__J|@)`)

// TestMSNames compares the names that clang makes for MSVC's C++ of the templates of the C++ library with llvm-undname's reading.
func TestMSNames(t *testing.T) {
	t.Parallel()
	shorttest.Proof(t)
	for _, tool := range []string{"clang++-22", "llvm-undname-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	names := slices.Concat(namesMS(t, "x86_64-pc-windows-msvc"), namesMS(t, "i686-pc-windows-msvc", "-D__x86_64__", "-U__i386__", "-U__i386", "-DWIDE"))
	slices.Sort(names)
	names = slices.Compact(names)
	cmd := command(t, "llvm-undname-22", "--no-access-specifier", "--no-calling-convention", "--no-member-type", "--no-return-type", "--no-variable-type")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	answers := strings.Split(strings.TrimSpace(output(t, cmd)), "\n\n")
	if len(answers) != len(names) || len(names) < 4000 {
		t.Fatalf("%d answers for %d names", len(answers), len(names))
	}
	wrong, locals := 0, 0
	for i, name := range names {
		_, want, _ := strings.Cut(answers[i], "\n")
		got, ok := msname.Demangle(name, false)
		if !ok {
			t.Errorf("%s is not read: %s", name, want)
			continue
		}
		ours, theirs := plainMS(withoutResults(got)), plainMS(withoutResults(convention.ReplaceAllString(withoutClass(name, want), "(")))
		// llvm-undname shows the whole type of a function that a name is local to: what is behind that is compared.
		if at := localMS.FindAllStringIndex(theirs, -1); at != nil {
			locals++
			theirs = strings.ReplaceAll(theirs[at[len(at)-1][1]-2:], "'", "")
			ours = ours[max(0, len(ours)-len(theirs)):]
		}
		if ours != strings.ReplaceAll(theirs, "'", "") {
			if wrong++; wrong < 20 {
				t.Errorf("%s:\n %s\n %s\n  %s\n  %s", name, got, want, ours, theirs)
			}
		}
	}
	t.Logf("%d names, %d of them local to a function; %d differ", len(names), locals, wrong)
}

// namesMS returns the names of functions and variables that clang makes of testdata/msname for a target.
func namesMS(t *testing.T, target string, flags ...string) []string {
	t.Helper()
	dir := filepath.Join("testdata", "msname")
	headers := []string{dir}
	headers = append(headers, mustGlob(t, "/usr/include/c++/*")[0], mustGlob(t, "/usr/include/x86_64-linux-gnu/c++/*")[0])
	headers = append(headers, mustGlob(t, "/usr/lib/llvm-22/lib/clang/22/include")[0], "/usr/include/x86_64-linux-gnu", "/usr/include")
	args := []string{"--target=" + target, "-nostdinc++", "-nostdinc", "-std=c++20", "-fno-ms-compatibility", "-fno-ms-extensions", "-w", "-S", "-o", "-"}
	args = append(args, "-D__linux__", "-D__unix__", "-D__ELF__", "-D_GNU_SOURCE", filepath.Join(dir, "names.cc"))
	for _, h := range headers {
		args = append(args, "-isystem", h)
	}
	var names []string
	for _, m := range mangledMS.FindAllStringSubmatch(output(t, command(t, "clang++-22", append(args, flags...)...)), -1) {
		// llvm-undname has the arguments of a conversion in front of its type.
		if strings.HasPrefix(m[1], "??$?B") {
			continue
		}
		if !dataMS.MatchString(m[1]) && !strings.HasPrefix(m[1], "?dtor$") && !strings.HasPrefix(m[1], "?catch$") {
			names = append(names, m[1])
		}
	}
	return names
}

// wordsMS are what llvm-undname says and cairn does not, and marks that differ.
var wordsMS = regexp.MustCompile(`\b(class|struct|union|enum) |\b__(cdecl|thiscall|stdcall)\b|extern "C" |\[thunk\]:|` + "`(adjustor|vtordisp|vtordispex)\\{[^}]*\\}'" +
	`|(non-)?virtual thunk to |[` + "`" + `{}]|'$| `)

// localMS is what llvm-undname writes behind a function that a name is local to.
var localMS = regexp.MustCompile(`'::[0-9]+'::`)

// plainMS removes from a name what the two may differ in.
func plainMS(name string) string {
	name = strings.NewReplacer("`anonymous namespace'", "(anonymous namespace)", "(void)", "()", "__int64", "long long",
		", {flat}", "", " dtor", " destructor", " ctor", " constructor", "''(void)", "", "for `", "for ", "initializer for '", "initializer for ", "destructor for '", "destructor for ").Replace(name)
	return wordsMS.ReplaceAllString(name, "")
}

// closing returns the index behind the bracket that closes the one at an index.
func closing(s string, at int) int {
	depth := 0
	for i := at; i < len(s); i++ {
		switch s[i] {
		case '(', '<', '[':
			depth++
		case ')', '>', ']':
			if s[i] == '>' && (s[i-1] == '-' || strings.HasSuffix(s[:i], "operator") || strings.HasSuffix(s[:i], "<=")) {
				continue
			}
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// withoutResults removes what functions return from the types of functions, which llvm-undname leaves out.
func withoutResults(name string) string {
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '(' || name[i-1] != ' ' || strings.HasPrefix(name[i:], "(anonymous") {
			continue
		}
		if end := closing(name, i); end < len(name) && (name[end] == '(' || name[end] == '[') {
			continue
		}
		start, depth := i-1, 0
		for ; start > 0; start-- {
			c := name[start-1]
			if depth == 0 && (c == '<' || c == ' ' && name[start-2] == ',') {
				break
			}
			switch c {
			case '>', ')':
				depth++
			case '<', '(':
				depth--
			}
		}
		name = name[:start] + name[i:]
		i = min(i, start)
	}
	return name
}

// withoutClass removes the arguments of a class from the names of its constructors and destructors, where llvm-undname repeats them.
func withoutClass(mangled, name string) string {
	last, at := 0, -1 // where the last part of the name begins, and the one before
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '<' || strings.HasPrefix(name[i:], "(anonymous"):
			i = closing(name, i) - 1
		case name[i] == '(':
			i = len(name)
		case strings.HasPrefix(name[i:], "::"):
			last, at = i+2, last
		}
	}
	if at < 0 || !regexp.MustCompile(`^\?\?(\$\?)?[01]`).MatchString(mangled) {
		return name
	}
	class := name[at : last-2]
	short, _, _ := strings.Cut(class, "<")
	rest := strings.TrimPrefix(name[last:], "~")
	return name[:last] + name[last:len(name)-len(rest)] + short + strings.TrimPrefix(rest, class)
}
