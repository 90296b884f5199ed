package nativert

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
)

// markedProgram builds testdata/timed/marks.c, in which nothing is timed but what
// it marks.
func markedProgram(t *testing.T, archive, compiler string, flags ...string) string {
	t.Helper()
	include := t.TempDir()
	if err := os.WriteFile(filepath.Join(include, "cairn.h"), Header(), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "program")
	args := append([]string{"-g", "-Wall", "-Wextra", "-Werror", "-DCAIRN_ON", "-I", include, "-o", program}, flags...)
	args = append(args, filepath.Join("testdata", "timed", "marks.c"), "-x", "none", archive, "-Wl,-u,__cairn_preinit")
	runTool(t, ".", compiler, append(args, withUnwinder...)...)
	return program
}

// names maps addresses of a program to its functions.
type names struct {
	symbols []elf.Symbol
}

func (n names) at(pc uint64) string {
	for _, s := range n.symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC && pc-1 >= s.Value && pc-1 < s.Value+s.Size {
			return s.Name
		}
	}
	return "?"
}

// told runs a scenario of the program and returns what its log says, in words:
// "peak[stack from within, with times] callers: texts".
func told(t *testing.T, program, scenario string, want names) (string, *tracelog.Log) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), program, scenario)
	cmd.Env = append(os.Environ(), "CAIRN_DIR="+dir, "CAIRN_SPIKE=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	log := tracelogtest.Only(t, dir)
	var all []string
	for e, err := range log.Episodes() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sentence(log, e, want))
	}
	return strings.Join(all, "; ") + " " + strings.TrimSpace(string(out)), log
}

func sentence(log *tracelog.Log, e *tracelog.Episode, n names) string {
	section := map[uint32]string{}
	var texts []string
	for _, text := range e.Texts {
		if text.Kind == tracelog.Section {
			section[text.SP] = text.Text
		} else {
			texts = append(texts, fmt.Sprintf("%q", text.Text))
		}
	}
	name := func(pc uint64, sp uint32) string {
		if s := section[sp]; s != "" {
			return s
		}
		return n.at(pc - log.Modules[0].Bias)
	}
	var stack, parents []string
	for i := range e.Stack {
		if x := &e.Stack[i]; x.Timed() {
			stack = append(stack, name(x.PC, x.SP))
		}
	}
	for i := range e.Children {
		if s := section[e.Children[i].SP]; s != "" {
			stack = append(stack, "<"+s)
		}
	}
	for _, p := range e.Parents {
		parents = append(parents, "^"+name(p.PC, p.SP))
		if p.Time.Lo < 15e6 {
			parents = append(parents, p.Time.String())
		}
	}
	if e.Peak.Hi < 28e6 || e.Peak.Lo < 15e6 {
		stack = append(stack, e.Peak.String())
	}
	return strings.Join(append(append([]string{"[" + strings.Join(stack, " ") + "]"}, parents...), texts...), " ")
}

// scenarios are those of marks.c, and what their logs say.
var scenarios = []struct{ name, want string }{
	{"nested", `[leaf middle outer] ^middle ^outer "leaf  12.5% of 30, 7 x `},
	{"section", `[load section] ^section 0`},
	{"own", `[leaf middle own] ^middle "leaf`},
	{"children", `[children] 0`},
	{"parents", `[load parents] 0`},
	{"ignore", `[leaf middle] ^middle "leaf`},
	{"ignore_children", `[ignore_children] 0`},
	{"pause", ` 0`},
	{"inactive", ` 0`},
	{"channel", `[on] 0`},
	{"frames", `[leaf] "leaf`},
	{"snapshot", `[shot snapshot]; [shot snapshot] ^snapshot 0`},
	{"below", `[below <inner]`},
	{"messages", `[overtime] "waited 30" "n 30" 22`},
	{"jumps", `[leaf jumps] ^jumps "leaf`},
}

// TestMarks runs marked programs that have no other probes.
func TestMarks(t *testing.T) {
	t.Parallel()
	archive := timedRuntime(t, "gcc")
	for _, c := range []struct{ compiler, flags string }{
		{"gcc", "-x c -std=c99 -O0"},
		{"gcc", "-x c -std=gnu17 -O2"},
		{"gcc", "-x c -std=c11 -O2 -fcf-protection=full -fno-omit-frame-pointer"},
		{"clang-22", "-x c -std=c99 -O2"},
		{"clang-22", "-x c -std=c17 -O0"},
		{"g++", "-x c++ -std=c++11 -O2"},
		{"g++", "-x c++ -std=c++20 -O0"},
		{"clang++-22", "-x c++ -std=c++11 -O0"},
		{"clang++-22", "-x c++ -std=c++20 -O2"},
	} {
		t.Run(c.compiler+" "+c.flags, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(c.compiler); err != nil {
				t.Skip(err)
			}
			program := markedProgram(t, archive, c.compiler, strings.Fields(c.flags)...)
			symbols := names{symbolsOf(t, program)}
			for _, s := range scenarios {
				got, log := told(t, program, s.name, symbols)
				// A clock that is late misses calls, and says so. A host that stalls
				// makes other calls long: such are spikes indeed.
				for range 8 {
					if matches(got, s.want) {
						break
					}
					t.Logf("%s: %s", s.name, got)
					got, log = told(t, program, s.name, symbols)
				}
				if !matches(got, s.want) {
					t.Errorf("%s: %s, want %s", s.name, got, s.want)
				}
				if s.name == "frames" {
					checkFrames(t, log)
				}
			}
			if got, _ := told(t, program, "hears", symbols); !heard.MatchString(got) {
				t.Errorf("the program was told %s", got)
			}
			if strings.Contains(c.flags, "c++") {
				if got, _ := told(t, program, "exception", symbols); !strings.Contains(got, `throws`) || !strings.Contains(got, `"slept 30"`) {
					t.Errorf("exception: %s", got)
				}
			}
		})
	}
}

// matches leaves out of what is told the calls that are ignored: they stay on
// stacks, and are reported as callers.
func matches(got, want string) bool {
	return strings.HasPrefix(ignored.ReplaceAllString(got, ""), want)
}

// heard is what the callback of a program prints about a spike.
var heard = regexp.MustCompile(`told [0-9]+ 1 speaker 1 leaf  12.5% of 30`)

var ignored = regexp.MustCompile(` \^?(ignore\b|inactive)`)

func checkFrames(t *testing.T, log *tracelog.Log) {
	t.Helper()
	for e, err := range log.Episodes() {
		if err != nil || e.Frame != 2 {
			t.Errorf("frame %d, %v", e.Frame, err)
		}
	}
	if !slices.ContainsFunc(log.Threads, func(th tracelog.Thread) bool { return th.Name == "renderer" }) {
		t.Errorf("threads %v", log.Threads)
	}
}

// TestMarksPlanted compares marked sections with what they measured themselves.
func TestMarksPlanted(t *testing.T) {
	t.Parallel()
	program := markedProgram(t, timedRuntime(t, "gcc"), "gcc", "-x", "c", "-O2")
	out, logs := runTimed(t, "rate=100000", program, "planted")
	found, due := checkPlanted(t, one(t, logs), readTruth(t, out))
	t.Logf("%d of %d calls of 2 ms and longer were reported", found, due)
}

// TestMarksOff checks that without CAIRN_ON the code of a marked function is that of one
// without marks.
func TestMarksOff(t *testing.T) {
	t.Parallel()
	const marked = `#include "cairn.h"
CAIRN_CHANNEL(ai);
int puts(const char *);
int expensive(int);
int work(int n) {
  CAIRN_FUNCTION();
  CAIRN_FUNCTION_IF(expensive(1));
  CAIRN_THRESHOLD(expensive(2));
  CAIRN_CHILDREN_THRESHOLD(16.7);
  CAIRN_PARENTS_THRESHOLD(2000);
  CAIRN_DESCF("n %d", expensive(n));
  CAIRN_OVERTIMEF("n %d", expensive(n));
  CAIRN_IGNORE(); CAIRN_IGNORE_IF(cairn_channel(ai));
  CAIRN_IGNORE_CHILDREN(); CAIRN_IGNORE_CHILDREN_IF(expensive(3));
  CAIRN_FRAME();
  cairn_threshold(expensive(4));
  cairn_pause(); cairn_pause_if(expensive(5));
  cairn_thread_active(0);
  cairn_thread_name("x");
  cairn_channel_set(ai, 0);
  for (int i = 0; i < n; i++)
    CAIRN_SECTION("part")
  {
    n *= 3;
    if (n > 1000) break;
  }
  cairn_resume(); cairn_resume_if(1);
  CAIRN_SECTION_IF(expensive(6), "last")
  {
    puts("x");
  }
  return n;
}
`
	var bare strings.Builder
	for line := range strings.Lines(marked) {
		if !strings.Contains(line, "CAIRN") && !strings.Contains(line, "cairn") {
			bare.WriteString(line)
		}
	}
	for _, c := range []string{"gcc -x c -std=c99 -O0", "gcc -x c -std=c17 -O2", "g++ -x c++ -std=c++11 -O2", "clang-22 -x c -std=c99 -O2", "clang++-22 -x c++ -std=c++20 -O0"} {
		args := strings.Fields(c)
		if _, err := exec.LookPath(args[0]); err != nil {
			continue
		}
		var code []string
		for _, source := range []string{marked, bare.String()} {
			dir := t.TempDir()
			for name, data := range map[string]string{"cairn.h": string(Header()), "x.c": source} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			flags := []string{"-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c", "-o", "x.o", "x.c"}
			runTool(t, dir, args[0], append(slices.Clone(args[1:]), flags...)...)
			dump, err := exec.Command("objdump", "-dr", "--no-show-raw-insn", filepath.Join(dir, "x.o")).Output()
			if err != nil {
				t.Skip(err)
			}
			_, text, _ := strings.Cut(string(dump), "Disassembly")
			code = append(code, text)
		}
		if code[0] != code[1] || !strings.Contains(code[0], "work") {
			t.Errorf("%s, with marks:\n%s\nwithout:\n%s", c, code[0], code[1])
		}
	}
}
