package samples

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/blockcount"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// splitMaps returns the arguments that are no maps, and sets the map.
func (f *profgenFlags) splitMaps(args []string) (others []string) {
	for _, path := range args {
		head, err := verb.ReadHead(path)
		if err == nil && mip.Detect(head) == mip.KindMap {
			f.blockMap = path
			continue
		}
		others = append(others, path)
	}
	return others
}

// ofExecutions returns a function that writes a profile with the estimated executions of blocks.
func (f *profgenFlags) ofExecutions(s *verb.Streams, made *pipeline.Result) (func(io.Writer) error, error) {
	m := f.blocks
	module := prof.Module{Map: *m, Raws: 1, Counts: blockcount.Estimate(m, made.Executions)}
	ran := 0
	for i := range module.Counts {
		if module.Counts[i].Runs > 0 {
			ran++
		}
	}
	if ran == 0 {
		return nil, fmt.Errorf("%s: no sample is in a function of the map", f.binaries[0])
	}
	fmt.Fprintf(s.Remarks(), "%s: estimated executions of %s of %s; the others were not sampled\n", f.binaries[0], report.Count(uint64(ran)), report.Plural(len(m.Funcs), "function"))
	return func(w io.Writer) error { return mip.WriteProfile(w, &prof.Profile{Modules: []prof.Module{module}}) }, nil
}

// readBlockMap reads the map of the blocks of the binary, which must be of the same build.
func (f *profgenFlags) readBlockMap() (*prof.Map, error) {
	path := f.blockMap
	if path == "" {
		path = f.binaries[0] + toolchain.MapExt
	}
	data, err := verb.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no map of its blocks beside it: build it with cairn build --map, or give the .mipmap as an argument", f.binaries[0])
	}
	if err != nil {
		return nil, err
	}
	m, err := mip.ReadMap(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(m.Funcs) == 0 || !m.Funcs[0].Mode.Estimated() {
		return nil, fmt.Errorf("%s: the map of a build with probes, whose counts are exact: merge its raw files", path)
	}
	bin, err := objfile.Open(f.binaries[0])
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	if id, err := bin.RecordedID(); err != nil {
		return nil, err
	} else if id != m.BuildID {
		return nil, fmt.Errorf("%s: the map of another build (%s) than %s (%s)", path, m.BuildID.Short(), f.binaries[0], id.Short())
	}
	return m, nil
}
