package cli

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/native"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/prof"
)

func newBuildCmd(s *Streams) *cobra.Command {
	var f instrumentFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "build [flags] -- COMMAND ARGS...",
		Short: "Run a whole build, with probes or by a profile",
		Long: `build runs a build command with wrappers for every compiler and linker on PATH,
so that what it compiles is instrumented as by cairn cc, and says at the end
what was: files, functions, blocks, and what was left alone and why. Nothing of
the build is edited. Compilers that the environment names (CC, CXX, FC, LD...)
are wrapped as well; a compiler that the build starts by an absolute path of
its own is not.

With --use nothing is instrumented: what the build compiles and links is laid
out by a profile, as by cairn cc --use.`,
		Example: `  cairn build -- make -j2
  cairn build --mode full -- sh -c './configure && make'
  cairn build --mode block -- sh -c 'cmake -B out . && cmake --build out'
  cairn build --use app.mip -- make -B`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("build: no command given; write: cairn build -- make")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(c.Flags()); err != nil {
				return err
			}
			return runBuild(s, f, args, asJSON)
		},
	}
	c.Flags().SetInterspersed(false)
	f.register(c.Flags())
	f.registerUse(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print the summary as JSON on standard output")
	return c
}

// compilerVariables are the environment's names for compilers and linkers.
var compilerVariables = []string{"CC", "CXX", "FC", "F77", "CPP", "LD", "HOSTCC", "HOSTCXX", "CC_FOR_BUILD", "OBJC"}

// runBuild runs the command with the wrappers first on PATH.
func runBuild(s *Streams, f instrumentFlags, args []string, asJSON bool) error {
	opts := wrapperOptions{Shim: f.shim, DefaultDir: f.defaultDir}
	dir, err := wrapperDir(s, opts)
	if err != nil {
		return err
	}
	log, err := os.CreateTemp("", "cairn-build-*.jsonl")
	if err != nil {
		return err
	}
	log.Close()
	defer os.Remove(log.Name())

	env := append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), envLog+"="+log.Name())
	for _, name := range compilerVariables {
		if v := os.Getenv(name); v != "" {
			wrapped, err := wrapVariable(s, dir, v, opts)
			if err != nil {
				return err
			}
			env = append(env, name+"="+wrapped)
		}
	}
	path, err := exec.LookPath(args[0])
	if err != nil {
		return usagef("build: %w", err)
	}
	if wrapper := filepath.Join(dir, args[0]); filepath.Base(args[0]) == args[0] && exists(wrapper) {
		path = wrapper // the command is a compiler itself
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Args[0] = args[0]
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.In, s.Out, s.Err
	if asJSON {
		cmd.Stdout = s.Err // standard output is for the summary
	}
	failure := runForeground(cmd)
	sum, err := readBuildLog(log.Name(), f.shim.Mode)
	if err == nil && asJSON {
		err = report.WriteJSON(s.Out, sum)
	} else if err == nil && f.shim.Use != nil {
		cmp.Or(sum.Use, &useSummary{}).print(s, &f.use)
	} else if err == nil {
		sum.print(s)
	}
	return cmp.Or(failure, err)
}

// runForeground runs a command that shares our terminal. An interrupt reaches
// both; we wait for the child and take over its exit code. The signal is caught
// and not ignored: the child would ignore it, too, and never stop.
func runForeground(cmd *exec.Cmd) error {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	terminate := make(chan os.Signal, 1)
	signal.Notify(terminate, syscall.SIGTERM)
	defer signal.Stop(terminate)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-terminate: // for us alone
			cmd.Process.Signal(syscall.SIGTERM)
		case <-ended:
		}
	}()
	return childError(cmd.Wait())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// buildEvent is a line of the build log: an object that was instrumented, or
// one that was left as it is.
type buildEvent struct {
	native.Result
	Untouched string      `json:",omitempty"` // why
	Split     *splitEvent `json:",omitempty"` // of a build by a profile
}

// logEvent appends to the log of cairn build, if there is one. One write of a
// line to a file opened for appending is not torn by parallel builds.
func logEvent(e buildEvent) error {
	path := os.Getenv(envLog)
	if path == "" {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	// The log is gone where a wrapper outlives its build; that is no failure.
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// buildSummary is what cairn build says at its end.
type buildSummary struct {
	Mode      string              `json:"mode"`
	Files     int                 `json:"files"`
	Functions int                 `json:"functions"`
	Blocks    int                 `json:"blocks"`
	Skipped   map[string][]string `json:"skipped"`    // reason -> functions
	EntryOnly []string            `json:"entry_only"` // functions without block probes
	Untouched map[string][]string `json:"untouched"`  // reason -> files

	Use *useSummary `json:"use,omitempty"` // of a build by a profile
}

func readBuildLog(path, mode string) (*buildSummary, error) {
	sum := &buildSummary{Mode: mode, EntryOnly: []string{}, Skipped: map[string][]string{}, Untouched: map[string][]string{}}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e buildEvent
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("build: %s: %w", path, err)
		}
		if e.Untouched != "" {
			sum.Untouched[e.Untouched] = append(sum.Untouched[e.Untouched], e.Source)
			continue
		}
		if e.Split != nil {
			if sum.Use == nil {
				sum.Use = &useSummary{Refused: map[string][]string{}}
			}
			sum.Use.add(e.Split)
			continue
		}
		sum.Files++
		sum.Functions += e.Functions
		sum.Blocks += e.Blocks
		sum.EntryOnly = append(sum.EntryOnly, e.EntryOnly...)
		for _, k := range e.Skipped {
			sum.Skipped[k.Reason] = append(sum.Skipped[k.Reason], k.Name)
		}
	}
	return sum, lines.Err()
}

// print writes the summary for a reader.
func (b *buildSummary) print(s *Streams) {
	if b.Files == 0 {
		fmt.Fprintln(s.Err, "cairn: build: nothing was instrumented: no compiler was started through PATH, or all was up to date already (try a clean build)")
	} else {
		blocks := ""
		if mode, _ := prof.ParseMode(b.Mode); mode.HasBlocks() {
			blocks = fmt.Sprintf(", %s blocks", report.Count(uint64(b.Blocks)))
		}
		fmt.Fprintf(s.Err, "cairn: build: instrumented %s in mode %s: %s%s\n",
			plural(b.Files, "file"), b.Mode, plural(b.Functions, "function"), blocks)
	}
	printReasons(s, "left alone", "function", b.Skipped)
	if len(b.EntryOnly) > 0 {
		printReasons(s, "entry only", "function", map[string][]string{"a branch that cannot reach further": b.EntryOnly})
	}
	printReasons(s, "untouched", "file", b.Untouched)
}

func printReasons(s *Streams, what, unit string, reasons map[string][]string) {
	for _, why := range slices.Sorted(maps.Keys(reasons)) {
		names := reasons[why]
		shown := strings.Join(names[:min(len(names), 3)], ", ")
		if len(names) > 3 {
			shown += ", ..."
		}
		fmt.Fprintf(s.Err, "  %s: %s, %s (%s)\n", what, plural(len(names), unit), why, shown)
	}
}
