//go:build linux && amd64

package oracle

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairnprof/cairn/prof"
)

// What a cell of the table in docs/contract.md says. In all of them but breaks and
// rejected the program does what it does without probes.
const (
	kept     = "kept"     // all that ran is recorded
	part     = "part"     // some of it is
	lost     = "lost"     // none of it is, and nothing half done is left
	breaks   = "breaks"   // the program does not what it does without probes
	rejected = "rejected" // cairn cc --strict reports an error
	none     = "-"        // there is no such program
	open     = "open"     // nobody has looked yet
)

// contractMode is a column of the table.
type contractMode struct {
	name     string
	flags    string   // of cairn cc, after --mode
	compiler string   // and its options, "" for gcc
	tools    []string // that it needs besides gcc
	env      []string // of the program
	// holds says what is in the files that a program left in a directory: kept,
	// part, lost, or what is wrong with them.
	holds func(t *testing.T, c *contractCell) string
}

// contractModes are the columns, in the order of the table.
func contractModes() []contractMode {
	return slices.Concat(recordModes(), timedModes())
}

// situation is a row of the table: what happens to testdata/contract.c.
type situation struct {
	name    string // of the row, and what the program is told to do unless arg is set
	arg     string
	source  string   // "" is contract.c
	flags   string   // of the compiler
	start   string   // a line of sh that ends by starting the program, "$@"
	env     []string // of the program; DIR is the directory for files
	root    bool     // only root can do that
	calls   int      // of work, if not the usual
	also    []string // functions that run as well
	files   int      // raw files or logs, if not one
	retries int      // how often a run that differs may be repeated
	sealed  bool     // main ends where a slow call, which makes system calls, may make none
}

// contractCell is a program that ran in a situation.
type contractCell struct {
	*situation
	program  string
	programs *contractPrograms
	dir      string // what it left
}

// ran is all that others can see of a program.
type ran struct{ stdout, stderr, status, disk string }

// TestContract holds each cell of the table in docs/contract.md against what
// happens: each program runs as it is and with probes.
//
// A new row needs a situation in contractSituations, a branch in
// testdata/contract.c and a row in the table; a new column needs a contractMode
// and a word in each row.
func TestContract(t *testing.T) {
	t.Parallel()
	table := readContract(t)
	modes, rows := contractModes(), contractSituations()
	if len(table) != len(rows) {
		t.Errorf("the table has %d rows, there are %d situations", len(table), len(rows))
	}
	var plain contractPrograms
	for column, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var programs contractPrograms
			for i := range rows {
				s := &rows[i]
				word, ok := table[s.name][m.name]
				if !ok {
					t.Errorf("the table has no cell for %s in mode %s", s.name, m.name)
				}
				if word == none || word == open || !ok {
					continue
				}
				if testing.Short() && (i+column)%3 != 0 {
					continue // each row has cells in some modes, and each mode in some rows
				}
				t.Run(s.name, func(t *testing.T) {
					if got := plain.hold(t, &programs, &m, s); got != word {
						t.Errorf("the table says %q, this was %q", word, got)
					}
				})
			}
		})
	}
}

// hold runs a program without and with probes and returns what belongs into the cell.
func (plain *contractPrograms) hold(t *testing.T, programs *contractPrograms, m *contractMode, s *situation) string {
	if s.root && os.Getuid() != 0 {
		t.Skip("needs root")
	}
	c := contractCell{situation: s, programs: programs}
	want, _ := s.run(t, plain.build(t, nil, s), nil)
	if strings.HasPrefix(want.stdout, "skip: ") {
		t.Skip(strings.TrimSpace(want.stdout))
	}
	if c.program = programs.build(t, m, s); c.program == "" {
		return rejected
	}
	for late := 0; ; late++ {
		var got ran
		got, c.dir = s.run(t, c.program, m.env)
		for range s.retries {
			if want == got {
				break
			}
			t.Logf("once more: with probes %+q", got)
			got, c.dir = s.run(t, c.program, m.env)
		}
		if want != got {
			t.Logf("without probes %+q\nwith probes %+q", want, got)
			if c.sealed && late < 3 && c.mainWasSlow(t) {
				t.Log("once more: main was slow")
				continue
			}
			return breaks
		}
		if f := leftovers(t, c.dir); len(f) > 0 {
			return fmt.Sprintf("left half done: %q", f)
		}
		if word := m.holds(t, &c); word == kept || late == 3 || !c.clockWasLate(t) {
			return word
		}
		t.Log("once more: the clock was late")
	}
}

// run runs a program in a directory of its own, and returns that of its files, too.
func (s *situation) run(t *testing.T, program string, env []string) (r ran, dir string) {
	t.Helper()
	base := t.TempDir()
	work, dir := filepath.Join(base, "work"), filepath.Join(base, "raws")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	arg := s.arg
	if arg == "" {
		arg = s.name
	}
	start := s.start
	if start == "" {
		start = `exec "$@"`
	}
	// All have the same name, since a program may say it.
	link := filepath.Join(base, "guest")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, "sh", "-c", start, "sh", link, arg)
	cmd.Dir = work
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "DIR="+dir, "CAIRN_SCENARIO=contract")
	cmd.Env = append(append(cmd.Env, env...), s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	return ran{stdout.String(), ours.ReplaceAllString(stderr.String(), ""), cmd.ProcessState.String(), disk(t, work)}, dir
}

// ours is what the runtime says on standard error.
var ours = regexp.MustCompile(`(?m)^cairn: .*\n`)

// disk tells what is in a directory: names and contents.
func disk(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path[len(dir):], sha256.Sum256(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// leftovers are files that are neither raw files nor logs.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if ext := filepath.Ext(f); ext != ".mipraw" && ext != ".cairnlog" && ext != ".txt" {
			names = append(names, f)
		}
	}
	return names
}

// contractPrograms are the programs of one mode, by what they are built from.
type contractPrograms struct {
	mu    sync.Mutex
	built map[string]string
	maps  map[string]*prof.Module
}

// mapOf reads the map of a program, once.
func (p *contractPrograms) mapOf(t *testing.T, program string) *prof.Module {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.maps[program] == nil {
		if p.maps == nil {
			p.maps = map[string]*prof.Module{}
		}
		p.maps[program] = emptyProfile(t, program)
	}
	return p.maps[program]
}

// build compiles the program of a situation, once. It returns "" if cairn cc
// refuses that.
func (p *contractPrograms) build(t *testing.T, m *contractMode, s *situation) string {
	t.Helper()
	mustHave(t, "gcc")
	source := s.source
	if source == "" {
		source = "contract.c"
	}
	key := source + " " + s.flags
	p.mu.Lock()
	defer p.mu.Unlock()
	if program, ok := p.built[key]; ok {
		return program
	}
	program := filepath.Join(contractDir(t), "program")
	library := filepath.Join(filepath.Dir(program), "libguest.so")
	sh := `set -e; src=$1 out=$2 lib=$3 flags=$4; shift 4
case $flags in *-static*|*-nostdlib*) ;; *) "$@" -O1 -w -fPIC -shared -DLIBRARY -o $lib ${src%/*}/contract.c;; esac
"$@" -O1 -w -pthread -DGUEST_LIBRARY="\"$lib\"" $flags -o $out $src`
	args := []string{"-c", sh, "sh", filepath.Join("testdata", source), program, library, s.flags}
	compiler := []string{"gcc"}
	if m != nil {
		args = append(append(args, cairn, "cc", "--strict", "--mode"), strings.Fields(m.flags)...)
		if m.compiler != "" {
			compiler = strings.Fields(m.compiler)
		}
		for _, tool := range m.tools {
			mustHave(t, tool)
		}
	}
	out, err := command(t, "sh", append(args, compiler...)...).CombinedOutput()
	switch {
	case err != nil && m != nil && bytes.HasPrefix(out, []byte("cairn: ")):
		program = ""
	case err != nil:
		t.Fatalf("building: %v\n%s", err, out)
	}
	if p.built == nil {
		p.built = map[string]string{}
	}
	p.built[key] = program
	return program
}

// contractDir makes a directory that stays until all tests are done.
func contractDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(workDir, "contract-")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// readContract reads the table: row, column, word.
func readContract(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	var columns []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		var cells []string
		for c := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.TrimSpace(c))
		}
		switch name, ok := strings.CutPrefix(cells[0], "`"); {
		case cells[0] == "situation":
			columns = cells
		case ok && len(cells) == len(columns):
			name, _, _ = strings.Cut(name, "`")
			if table[name] == nil {
				table[name] = map[string]string{}
			}
			for i, word := range cells[1:] {
				table[name][columns[i+1]] = word
			}
		}
	}
	return table
}
