package samples

import (
	"bufio"
	"context"
	"os"
	"os/exec"

	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/internal/watch/lbr"
	"github.com/cairnprof/cairn/internal/watch/lbrfile"
	"github.com/cairnprof/cairn/internal/watch/ptrace"
)

// stopping records the branches of a program from outside, by stopping it at each: this is
// slow, but needs nothing in the program. The output is the same as that of the runtime.
func (f *recordFlags) stopping(ctx context.Context, s *verb.Streams, argv []string, raw string) (code int, err error) {
	out, err := os.OpenFile(raw, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	w := bufio.NewWriterSize(out, 1<<20)
	if path, err := exec.LookPath(argv[0]); err == nil {
		f.byCalls = lbrfile.LacksFramePointers(path)
	}
	watcher := lbrfile.NewWatcher(lbr.Observer{Every: f.every, Branches: f.byBranches(), Depth: f.depth, Truth: f.truth != "", ByCalls: f.byCalls, Out: w})
	var run *ptrace.BranchRun
	err = verb.Traced(ctx, s, f.out == "-" || f.truth == "-", func(ctx context.Context, opts *ptrace.Options) error {
		run, err = ptrace.Branches(ctx, argv, watcher, opts)
		return err
	})
	if err != nil {
		return 0, err
	}
	if err := watcher.Observer.End(); err != nil {
		return 0, err
	}
	if run.Replaced {
		verb.Note(s, "record: the program replaced itself by another one (exec), which is not recorded")
	}
	return run.Status.Code, w.Flush()
}
