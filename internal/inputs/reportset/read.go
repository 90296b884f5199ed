package reportset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/calls/waiting"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/inputs/logset"
	"github.com/cairnprof/cairn/internal/inputs/sampleset"
	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/page/model"
	"github.com/cairnprof/cairn/internal/profile/callgraph"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/samples/pipeline"
	"github.com/cairnprof/cairn/internal/samples/profgen"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

// reader reads the inputs of one report.
type reader struct {
	*Inputs
	src     *model.Sources
	served  bool
	onlyRan bool
	headers map[string]binary // results of about
}

// read reads the inputs of a report.
func (f *Choice) read(ctx context.Context, in *Inputs) (_ *model.Sources, err error) {
	names := &report.Names{}
	info, ok := debug.ReadBuildInfo()
	r := &reader{in, &model.Sources{
		Title: f.Title, Generator: verb.BuildVersion(info, ok).Version, Inputs: in.groups, Uncertain: in.said, Show: names.Show, System: f.System, Markers: !f.NoMarkers,
	}, f.Served, f.OnlyRan, map[string]binary{}}
	defer func() {
		if err != nil && r.src.Close != nil {
			r.src.Close()
		}
	}()
	for _, step := range []func(context.Context) error{r.profile, r.program, r.spikes, r.calls, r.timeline, r.samples} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	if err := f.compare(ctx, r); err != nil {
		return nil, err
	}
	if !f.NoSources {
		texts, err := newTexts(f.Paths, in.paths[binaries], r.builds())
		if err != nil {
			return nil, err
		}
		r.src.Texts = texts
	}
	if r.src.Title == "" {
		r.src.Title = r.title()
	}
	return r.src, nil
}

func (r *reader) uncertain(format string, args ...any) {
	r.src.Uncertain = append(r.src.Uncertain, fmt.Sprintf(format, args...))
}

// profile reads profiles and raw files, and lines for them.
func (r *reader) profile(ctx context.Context) error {
	g := gather.Files{Name: "the report", Paths: slices.Concat(r.paths[profiles], r.paths[raws], r.paths[maps]), OnlyRan: r.onlyRan}
	logged := len(r.paths[calllogs])+len(r.paths[xraylogs])+len(r.paths[spikelog])+len(r.paths[samples])+len(r.paths[gotraces]) > 0
	if len(r.paths[raws]) > 0 || len(r.paths[profiles]) == 0 && !logged {
		for _, path := range r.paths[binaries] {
			switch {
			case !r.named[path]:
				g.Found = append(g.Found, path)
			case gather.HasMap(path):
				g.Paths = append(g.Paths, path)
			}
		}
	}
	g.Objects = r.objects
	if len(g.Paths)+len(g.Found) == 0 {
		return r.noProfile(logged)
	}
	p, refused, err := gather.Profile(ctx, r.streams, g)
	if err != nil {
		return err
	}
	r.refused(refused)
	if len(p.Modules) == 0 {
		if len(refused) > 0 {
			return fmt.Errorf("%s: %s", refused[0].File, refused[0].Reason)
		}
		return r.noProfile(logged)
	}
	r.src.Profile = p
	r.src.Modules = make([]coverage.Module, len(p.Modules))
	for i := range p.Modules {
		r.src.Modules[i].Module = &p.Modules[i]
		if err := gather.NoEstimates(r.groups[0].Path, &p.Modules[i]); err != nil {
			return err
		}
	}
	return r.lines(logged)
}

// noProfile returns an error if there are no logs either.
func (r *reader) noProfile(logged bool) error {
	if logged {
		return nil
	}
	return fmt.Errorf("%s: no profile, raw file, log or samples, and no binary that was built with cairn cc", r.groups[0].Path)
}

// lines reads the lines of the modules from the binaries. logged is whether there are logs,
// whose programs the binaries may be.
func (r *reader) lines(logged bool) error {
	any := false
	for _, path := range r.paths[binaries] {
		done := verb.Working(r.streams, "reading the debug information of %s", path)
		id, matched, err := gather.AddLines(r.src.Modules, path)
		done()
		any = any || matched
		switch {
		case errors.Is(err, objfile.ErrNoDebug):
		case err != nil && r.named[path]:
			return err
		case err == nil && !matched && r.named[path] && !logged:
			r.uncertain("%s is build %s, of which no runs were given: it is not used.", path, id.Short())
			verb.Note(r.streams, "%s is build %s, of which no runs were given: it is not used", path, id.Short())
			r.Omitted++
		}
	}
	if any {
		gather.NoteNoLines(r.streams, r.src.Modules)
	}
	return nil
}

// refused reports the files that could not be used, those of other builds together.
func (r *reader) refused(list []rawfiles.Complaint) {
	r.Omitted += len(list)
	if foreign := gather.Foreign(list); foreign != "" {
		verb.Note(r.streams, "%s", foreign)
		r.uncertain("%s.", foreign)
		list = slices.DeleteFunc(slices.Clone(list), func(c rawfiles.Complaint) bool { return c.Kind == rawfiles.OtherBuild })
	}
	for i, c := range list {
		if i == gather.MaxListed {
			verb.Note(r.streams, "%d more files could not be read", len(list)-i)
			r.uncertain("%d more files could not be read.", len(list)-i)
			break
		}
		verb.Note(r.streams, "%s: %s", c.File, c.Reason)
		r.uncertain("%s is not included: %s.", c.File, c.Reason)
	}
}

// program reads where functions are in the binary of the module with the most functions.
func (r *reader) program(context.Context) error {
	p := r.src.Profile
	if p == nil {
		return nil
	}
	var failed error
	for _, path := range r.paths[binaries] {
		for i := range p.Modules {
			m := &p.Modules[i]
			if was := r.src.Program; was != nil && len(p.Modules[was.Module].Funcs) >= len(m.Funcs) || m.BuildID == "" || r.about(path).id != m.BuildID {
				continue
			}
			prog, err := gather.OpenProgram(path, m)
			if err != nil {
				failed = err
				continue
			}
			graph := callgraph.Build(&prof.Profile{Modules: []prof.Module{*m}}, false)
			r.src.Program = &model.Program{Program: prog.Program, Module: i, Name: filepath.Base(path), Edges: toolchain.OrderEdges(graph, 0, m)}
		}
	}
	if failed != nil && r.src.Program == nil {
		verb.Note(r.streams, "pages are not shown: %v", failed)
	}
	return nil
}

// spikes reads logs of spikes.
func (r *reader) spikes(context.Context) error {
	if len(r.paths[spikelog]) == 0 {
		return nil
	}
	page, err := spikeset.ReadPage(r.streams, &report.Names{}, r.paths[spikelog], r.withBuildID())
	if err != nil {
		return err
	}
	r.src.Spikes = page
	return nil
}

// builds returns the builds of the report: those of the profile, or of the binaries if there
// is none.
func (r *reader) builds() []prof.BuildID {
	var list []prof.BuildID
	if p := r.src.Profile; p != nil {
		for i := range p.Modules {
			list = append(list, p.Modules[i].BuildID)
		}
		return list
	}
	for _, path := range r.withBuildID() {
		list = append(list, r.about(path).id)
	}
	return list
}

// binary has the headers of a binary.
type binary struct {
	id    prof.BuildID // "" if it has none
	sleds bool         // it was built with -fxray-instrument
}

// about reads the headers of a binary, once.
func (r *reader) about(path string) binary {
	if b, ok := r.headers[path]; ok {
		return b
	}
	var b binary
	if bin, err := objfile.Open(path); err == nil { // an error is reported where the binary is read
		b.id, _ = bin.RecordedID()
		b.sleds = bin.Has("xray_instr_map")
		bin.Close()
	}
	r.headers[path] = b
	return b
}

// withBuildID returns the binaries that name functions of logs.
func (r *reader) withBuildID() []string {
	var list []string
	for _, path := range r.paths[binaries] {
		if r.about(path).id != "" {
			list = append(list, path)
		}
	}
	return list
}

// xrayMaps returns the binaries that name functions of XRay's logs: those that were built with
// -fxray-instrument. If there is none, it returns all, so that the error names them.
func (r *reader) xrayMaps() []string {
	if len(r.paths[xraylogs]) == 0 {
		return nil
	}
	var list []string
	for _, path := range r.paths[binaries] {
		if r.about(path).sleds {
			list = append(list, path)
		}
	}
	if len(list) == 0 {
		return r.paths[binaries]
	}
	return list
}

// calls reads logs of calls.
func (r *reader) calls(ctx context.Context) error {
	logs := slices.Concat(r.paths[calllogs], r.paths[xraylogs])
	if len(logs) == 0 {
		return nil
	}
	var f logset.Choice
	f.SetDefaults()
	f.Maps = r.xrayMaps()
	set, err := f.Open(r.streams, logs, &report.Names{})
	if err != nil {
		return err
	}
	defer set.Close()
	results, err := set.Account(ctx, f.Options)
	if err != nil {
		return err
	}
	for _, log := range set.Logs {
		info := log.Info()
		for _, text := range info.Notes {
			r.uncertain("%s: %s.", info.File, text)
		}
	}
	src := &model.CallSource{Trie: logset.Merged(results), Funcs: set.Funcs, Unit: set.Clock.Unit(), Step: set.Clock.Step}
	for _, res := range results {
		src.Threads += len(res.Threads)
		for i := range res.Threads {
			src.Time += res.Threads[i].Busy
		}
		r.incomplete(res)
	}
	r.src.Calls = src
	graph := func(t *calltrie.Trie) flamegraph.Document {
		return &flamegraph.Profile{Unit: src.Unit, Step: src.Step, Name: set.Name, Groups: []flamegraph.Group{{Trie: t}}}
	}
	if split := waiting.Divide(src.Trie, set.WaitOf); split != nil {
		for p := waiting.Processor; p <= waiting.Idle; p++ {
			if split.Time(p) == 0 {
				continue
			}
			if _, err := r.flame(fmt.Sprintf("%s: %s of the %s of all threads", set.PartName(p), set.Duration(split.Time(p)), set.Duration(split.All())), graph(split.Split(p))); err != nil {
				return err
			}
		}
	}
	all, err := r.flame("All calls", graph(src.Trie))
	if err != nil {
		return err
	}
	// The time line has the calls around spikes, too.
	all.Whole = !slices.ContainsFunc(r.paths[spikelog], func(path string) bool { return logset.IsLog(path, r.streams) })
	return nil
}

// incomplete reports what is missing from a log.
func (r *reader) incomplete(res *account.Result) {
	sum := res.Total()
	if n := sum.Deduced + sum.Open; n > 0 {
		r.uncertain("%s in the logs have no exit: their times are lower bounds.", report.Plural(int(n), "call"))
	}
	if n := len(res.Damage); n > 0 {
		r.uncertain("%s of the logs were skipped.", report.Plural(n, "damaged region"))
	}
}

// samples reads sampled stacks.
func (r *reader) samples(ctx context.Context) error {
	if len(r.paths[samples]) == 0 {
		return nil
	}
	bins := r.paths[binaries]
	if len(bins) == 0 {
		verb.Note(r.streams, "samples are not shown: give the binary that ran")
		r.uncertain("Samples are not shown, because the binary that ran was not given.")
		r.Omitted += len(r.paths[samples])
		return nil
	}
	made, err := sampleset.Run(ctx, r.streams, &pipeline.Plan{
		Product:   pipeline.Stacks,
		Inputs:    pipeline.Inputs{Samples: r.paths[samples], Binaries: bins},
		Unwinding: pipeline.Unwinding{Infer: pipeline.InferFull},
		Content:   pipeline.Content{Detail: profgen.Functions},
	})
	if err != nil {
		return err
	}
	for _, path := range bins {
		symbolize.Place(path, made.Stacks.Funcs)
	}
	r.src.Samples = made.Stacks
	return nil
}

// compare reads the profile that is compared with.
func (f *Choice) compare(ctx context.Context, r *reader) error {
	if f.Against == "" {
		return nil
	}
	if logs := r.logsOf(f.Against); len(logs) > 0 {
		return r.compareCalls(ctx, f.Against, logs)
	}
	if r.src.Profile == nil {
		return verb.Usagef("--against %s: there is no profile to compare with it", f.Against)
	}
	p, refused, err := gather.Profile(ctx, r.streams, gather.Files{Name: f.Against, Paths: []string{f.Against}, OnlyRan: f.OnlyRan})
	if err != nil {
		return err
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s: %s", refused[0].File, refused[0].Reason)
	}
	r.src.Against = &model.Against{Path: f.Against, Profile: p}
	return nil
}

// title is the names of the programs.
func (r *reader) title() string {
	var names []string
	if p := r.src.Profile; p != nil {
		for i := range p.Modules {
			if m := &p.Modules[i]; len(m.Funcs) > 0 { // else it is what no program has
				names = append(names, m.Module)
			}
		}
	} else {
		for _, path := range r.paths[binaries] {
			names = append(names, filepath.Base(path))
		}
	}
	if len(names) == 0 {
		for _, g := range r.groups {
			names = append(names, filepath.Base(g.Path))
		}
	}
	const most = 3
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
