package reportset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// group is what a report does with a kind of file, and its name there.
type group string

const (
	unknown  group = ""
	profiles group = "profile"
	raws     group = "raw files"
	maps     group = "map"
	binaries group = "binary"
	calllogs group = "log of calls"
	xraylogs group = "log of calls (XRay)"
	spikelog group = "log of spikes"
	gotraces group = "execution trace of Go"
	samples  group = "samples"
)

// maxWalked limits the number of files in directories.
const maxWalked = 200_000

// Inputs are the files of a report by kind.
type Inputs struct {
	streams *verb.Streams
	paths   map[group][]string
	sizes   map[string]int64
	// named are the binaries that were named; others were found in directories.
	named  map[string]bool
	groups []model.Input // as the report lists them
	said   []string      // notes about them
	// Omitted is the number of inputs that are not in the report, or only in part.
	Omitted int
	walked  int
	// objects are the objects and archives in directories.
	objects []string
}

// New returns inputs without files.
func New(s *verb.Streams) *Inputs {
	return &Inputs{streams: s, paths: map[group][]string{}, sizes: map[string]int64{}, named: map[string]bool{}}
}

// Add adds a file, or those of a directory.
func (in *Inputs) Add(arg string) error {
	if verb.IsURL(arg) {
		in.addFile(arg, profiles, 0)
		in.groups = append(in.groups, model.Input{Path: arg, Kind: string(profiles)})
		return nil
	}
	paths, err := logfile.Expand([]string{arg})
	if err != nil {
		return err
	}
	for _, path := range paths {
		st, err := os.Stat(objfile.PlainPath(path))
		switch {
		case err != nil:
			return err
		case st.IsDir():
			if err := in.directory(path, recorded); err != nil {
				return err
			}
			continue
		case !st.Mode().IsRegular():
			return fmt.Errorf("%s: not a regular file", path)
		}
		k, is, err := kindOf(path)
		if err != nil {
			return err
		}
		if k == unknown {
			return fmt.Errorf("%s: not a profile, raw file, binary, log or samples: it is %v", path, is)
		}
		in.addNamed(path, k, st.Size())
	}
	return nil
}

// addNamed adds a file that was named.
func (in *Inputs) addNamed(path string, g group, size int64) {
	in.named[path] = g == binaries
	in.addFile(path, g, size)
	in.groups = append(in.groups, model.Input{Path: path, Kind: string(g), Bytes: size})
}

// omit reports that a file below a directory is left out.
func (in *Inputs) omit(err error) {
	verb.Note(in.streams, "omitted: %v", err)
	in.said = append(in.said, err.Error())
	in.Omitted++
}

// addFile adds a file once.
func (in *Inputs) addFile(path string, g group, size int64) {
	if _, has := in.sizes[path]; has {
		return
	}
	in.sizes[path] = size
	in.paths[g] = append(in.paths[g], path)
}

// errNothing says that a directory has no input.
var errNothing = errors.New("contains no profile, raw file, log or samples")

// directory adds the binaries and objects below dir, and of other files those that are recorded by their path.
func (in *Inputs) directory(dir string, recorded func(path string) bool) error {
	found := map[group]*model.Input{}
	root := dir + string(filepath.Separator) // where dir is a link, the directory it leads to
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			in.omit(err)
			return nil
		case d.IsDir():
			if path != root && verb.VersionControl(d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if in.walked++; in.walked > maxWalked {
			return fmt.Errorf("%s has more than %d files: name a smaller directory", dir, maxWalked)
		}
		if gather.MayHaveUnits(path) {
			in.objects = append(in.objects, path)
			return nil
		}
		st, err := os.Stat(path) // of the target of a link
		named := recorded(path)
		if err != nil || !st.Mode().IsRegular() || !named && !verb.MayBeBinary(path, d) {
			return nil
		}
		k, is, err := kindOf(path)
		if err != nil {
			in.omit(err)
			return nil
		}
		if k == unknown && ours(path) {
			in.omit(fmt.Errorf("%s: not a profile, raw file or map: it is %v", path, is))
			return nil
		}
		if k == unknown || !named && k != binaries { // any text may begin as samples do
			return nil
		}
		in.addFile(path, k, st.Size())
		if found[k] == nil {
			found[k] = &model.Input{Path: dir, Kind: string(k)}
		}
		found[k].Files++
		found[k].Bytes += st.Size()
		return nil
	})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("%s: %w", dir, errNothing)
	}
	for _, g := range found {
		in.groups = append(in.groups, *g)
	}
	stablesort.Func(in.groups, func(a, b model.Input) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Kind, b.Kind))
	})
	return nil
}

// suffixes are those of files that recorders write.
var suffixes = []string{".mip", ".mipraw", ".mippack", ".mipmap", ".cairnlog", ".perf", ".perf.data", ".xray", ".debug", "trace.out", ".trace"}

// recorded reports whether a file in a directory has a name that recorders give. Others are not
// opened unless they may be binaries, because directories can contain any files.
func recorded(path string) bool {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".zst")
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) }) ||
		strings.HasPrefix(name, "perf.data") || strings.HasPrefix(name, "xray-log.")
}

// ours reports whether a file has a name that only recorders of cairn and cairn give.
func ours(path string) bool {
	return slices.Contains([]string{".mip", ".mipraw", ".mippack", ".mipmap"}, filepath.Ext(path))
}

// groupOf is the group of each kind of file that a report shows.
var groupOf = map[kind.Kind]group{
	kind.Binary: binaries, kind.Profile: profiles, kind.Raw: raws, kind.Pack: raws, kind.Map: maps,
	kind.XRayLog: xraylogs, kind.XRayProfile: xraylogs, kind.TraceLog: calllogs, kind.StacksLog: calllogs,
	kind.WindowLog: spikelog, kind.SpikeLog: spikelog, kind.GoTrace: gotraces,
	kind.PerfData: samples, kind.PerfText: samples,
}

// kindOf determines the kind of a file, which may be compressed, from its beginning, and its group.
func kindOf(path string) (group, kind.Kind, error) {
	if head, err := verb.ReadHead(path); err != nil { // of a part of a universal file as well
		return unknown, kind.Unknown, err
	} else if k := kind.Among(head, kind.Kind.IsBinary); k.IsBinary() {
		return binaries, k, nil
	}
	stream, err := logfile.OpenStream(path, nil)
	if err != nil {
		return unknown, kind.Unknown, err
	}
	defer stream.Close()
	k := kind.Of(stream.Peek(kind.HeadSize))
	return groupOf[k], k, nil
}
