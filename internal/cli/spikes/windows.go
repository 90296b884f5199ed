package spikes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/detour"
	"github.com/cairnprof/cairn/internal/instrument/detourfile"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

func newSpikePlanCmd(s *verb.Streams) *cobra.Command {
	var f detourFlags
	var out string
	c := &cobra.Command{
		Use:   "plan [flags] -o FILE PROGRAM.EXE",
		Short: "Plan hooks in a program for Windows, to run it where cairn is not",
		Long: `plan writes which functions of a program for Windows are hooked, and how, for the
files that cairn hooks writes: with CAIRN_DETOURS=FILE in the environment,
cairn_detours.exe starts the program with its functions hooked, and a program that loads
cairn_detours.dll is hooked from then on. Where cairn runs, watch run --detours does both.`,
		Example: `  cairn watch plan -o app.plan app.exe`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if file, err := objfile.Open(args[0]); err != nil {
				return err
			} else if file.Close(); file.Windows() == nil {
				return fmt.Errorf("watch plan: %s is not a program for Windows: use cairn watch run --detours", args[0])
			}
			d, err := f.planDetours(args[0])
			if err != nil {
				return err
			}
			if err := verb.WriteBytes(s, out, d.file); err != nil {
				return err
			}
			return f.summarize(s, d)
		},
	}
	f.register(c.Flags(), "watch plan", "")
	f.registerAlso(c.Flags(), "")
	c.Flags().StringVarP(&out, "output", "o", "-", "`file` to write; - for standard output")
	return c
}

// planImages plans the hooks of a program for Windows, and of the DLLs and programs of --also. If some of these have functions to hook,
// the others need not have any.
func (f *detourFlags) planImages(program *objfile.File, options detour.Options) (*detours, error) {
	if program.Windows().DLL {
		return nil, fmt.Errorf("%s: %w", program.Path(), detourfile.ErrDLL)
	}
	d := &detours{plan: &detour.Plan{}}
	images, err := d.addImage(nil, program, options, func(p *detour.Plan) { d.plan, d.entry = p, program.Entry() })
	if err != nil && (len(f.also) == 0 || !errors.As(err, new(unhookable))) {
		return nil, err
	}
	for _, path := range f.also {
		file, err := objfile.Open(path)
		if err != nil {
			return nil, err
		}
		if file.Windows() == nil {
			file.Close()
			return nil, verb.Usagef("%s: --%s %s: it is no program or DLL for Windows", f.verb, alsoFlag, path)
		}
		images, err = d.addImage(images, file, options, func(p *detour.Plan) { d.also = append(d.also, planned{path, p}) })
		if file.Close(); err != nil && !errors.As(err, new(unhookable)) {
			return nil, err
		}
	}
	if d.file = detour.EncodeImages(images); len(images) > 0 {
		return d, nil
	}
	if len(d.unhookable) > 0 {
		return nil, d.unhookable[0]
	}
	return nil, f.noneOf(program.Path(), d.plan)
}

// unhookable is why no function of a file can be hooked.
type unhookable struct{ error }

// addImage appends the plan of a file to others, unless it has no functions to hook, and passes it on.
func (d *detours) addImage(images []detour.PlannedImage, file *objfile.File, options detour.Options, take func(*detour.Plan)) ([]detour.PlannedImage, error) {
	module, err := detourfile.ReadImage(file)
	if err != nil {
		d.unhookable = append(d.unhookable, unhookable{err})
		return images, unhookable{err}
	}
	plan := detour.Make(module, options)
	if take(plan); len(plan.Sites) == 0 {
		return images, nil
	}
	id, derived, err := file.LogID()
	w := file.Windows()
	image := detour.Image{Base: w.Base, Size: w.Size, Stamp: w.Stamp, ID: []byte(id), Derived: derived, DLL: w.DLL}
	return append(images, detour.PlannedImage{Plan: plan, Image: image}), err
}

// imageOf returns the path of the program for Windows that a command names, "" for other programs.
func imageOf(name string) string {
	path, err := exec.LookPath(name)
	if err != nil { // on other systems it need not be executable
		path = name
	}
	if head, err := verb.ReadHead(path); err != nil || len(head) < 2 || string(head[:2]) != "MZ" {
		return ""
	}
	return path
}

// runImage runs the program for Windows at path.
func (f *spikeRunFlags) runImage(ctx context.Context, s *verb.Streams, path string, argv []string) error {
	if !f.detours {
		return fmt.Errorf("watch run: %s is a program for Windows: its functions can be hooked with --detours only", path)
	}
	plan, err := f.choose.planDetours(path)
	if err != nil {
		return err
	}
	dir, err := toolchain.WindowsDetours(ctx)
	if err != nil {
		return fmt.Errorf("watch run: %w", err)
	}
	program, command, name := filepath.Join(dir, nativert.DetourFilesCOFF[1]), []string{}, func(path string) string { return path }
	if runtime.GOOS != "windows" {
		wine, err := exec.LookPath("wine")
		if err != nil {
			return errors.New("watch run: a program for Windows needs Wine here, which is not on PATH; for Windows, see cairn watch plan")
		}
		name = func(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }
		program, command = wine, []string{program}
	}
	tmp, err := verb.PrivateDir("cairn-spike-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	summary, file := filepath.Join(tmp, summaryFile), filepath.Join(tmp, "plan")
	env, err := f.settings(name)
	if path, absolute := filepath.Abs(path); err == nil {
		argv, err = slices.Concat([]string{program}, command, []string{name(path)}, argv[1:]), absolute
	}
	if err = errors.Join(err, os.WriteFile(summary, nil, 0o600), os.WriteFile(file, plan.file, 0o600)); err != nil {
		return err
	}
	if err := f.choose.summarize(s, plan); err != nil {
		return err
	}
	env = append(env, "CAIRN_DETOURS="+name(file), "CAIRN_HOOK_SUMMARY="+name(summary))
	images := []string{path}
	for _, p := range plan.also {
		if len(p.plan.Sites) > 0 {
			images = append(images, p.path)
		}
	}
	return runHooked(s, verb.InPlaceOfUs(ctx, s, program, argv, env), summary, images)
}

// imageSummary converts the DLL's summary to sentences: of all processes, in which functions of a program, the first image, and of others
// were hooked.
func imageSummary(text string, images []string) (out []string) {
	times, loaded := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "0 detours ")
		if !ok {
			continue
		}
		what, name, _ := strings.Cut(rest, " of ")
		if strings.HasPrefix(rest, "refused ") {
			what, name = rest, ""
			refused, _, _ := strings.Cut(strings.TrimPrefix(rest, "refused "), ": ")
			loaded[strings.ToLower(refused)] = true
		}
		sentence := detoursSentence(what, "")
		if len(images) > 1 && name != "" {
			sentence = detoursSentence(what, " of "+name)
		}
		loaded[strings.ToLower(name)] = true
		if times[sentence]++; times[sentence] == 1 {
			out = append(out, sentence)
		}
	}
	for i, sentence := range out {
		if n := times[sentence]; n > 1 {
			out[i] = fmt.Sprintf("%s, %d times", sentence, n)
		}
	}
	for _, path := range images[1:] {
		if name := filepath.Base(path); !loaded[strings.ToLower(name)] {
			out = append(out, "no function of "+name+" was hooked: it was not loaded or started, or not under this name")
		}
	}
	return out
}
