package gobuild

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cairnprof/cairn/internal/runtime/goruntime"
	"github.com/cairnprof/cairn/prof"
)

// markPackage is the package for marks, which is empty without the tag cairn.
const markPackage = "github.com/cairnprof/cairn/mark"

// compileMark compiles package mark: in mode spike marks apply to the probes of the functions
// that they are in. With the tag cairn the package measures by itself, and is not changed.
func (t *tool) compileMark(files []string, output string) error {
	i := slices.IndexFunc(files, func(f string) bool { return filepath.Base(f) == "off.go" })
	if t.cfg.Mode != prof.ModeSpike || i < 0 {
		return t.run(t.args)
	}
	abs, err := filepath.Abs(files[i])
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "//line %s:1:1\n%s", filepath.Join(filepath.Dir(abs), "cairn_mark.go"), goruntime.Mark())
	dir := filepath.Join(filepath.Dir(output), "cairn")
	sources := slices.Clone(files)
	if sources[i], err = writeSource(dir, i, "cairn_mark.go", text); err != nil {
		return err
	}
	return t.runCompiler(dir, sources)
}
