package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// linkMerged links in two steps. In the first lld writes the assembly of the code from bitcode, or what it is made of,
// with the symbol information of the whole link; in the second that code replaces the first bitcode, and native inputs
// stay in place.
func (l *ltoLinker) linkMerged(ctx context.Context, line *driver.LinkerLine, in *ltoInputs, clang string) error {
	tmp, err := os.MkdirTemp("", "cairn-lto-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(tmp)()
	defer verb.RemoveAll(tmp)
	m := &mergedLink{ltoLinker: l, line: line, in: in, tmp: tmp, output: line.Output(), thin: map[string]string{}}
	defer m.removeTexts()
	log, err := holdLog(filepath.Join(tmp, "log"))
	if err != nil {
		return err
	}
	if line.MSVC { // what it says is in line
		m.leaveVariables()
	}
	messages, err := m.run(ctx, clang)
	if err := log.release(err == nil); err != nil {
		return err
	}
	if err != nil {
		return m.plainly(ctx, messages, err)
	}
	m.say(messages)
	return m.reportUnseen()
}

// run does both steps, and returns the messages of the last.
func (m *mergedLink) run(ctx context.Context, clang string) (messages string, err error) {
	if messages, err := m.generate(ctx); err != nil {
		return messages, err
	}
	objects, err := m.objects(ctx, clang)
	if err != nil {
		return "", err
	}
	args, err := m.relink(objects)
	if err != nil {
		return "", err
	}
	return m.start(ctx, args, m.streams.Out)
}

// start runs the real linker and returns its messages.
func (m *mergedLink) start(ctx context.Context, args []string, out io.Writer) (string, error) {
	if isLong(args) {
		var err error
		if args, err = inFile(args, m.tmp, m.line.MSVC); err != nil {
			return "", err
		}
	}
	cmd := exec.CommandContext(ctx, m.real, args...)
	var messages bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = m.streams.In, out, &messages
	err := cmd.Run()
	return messages.String(), err
}

// plainly links in one step, without the runtime if nothing refers to it, if two steps fail. If that fails too, the fault is not ours,
// nor are the messages.
func (m *mergedLink) plainly(ctx context.Context, messages string, why error) error {
	line := *m.line
	line.Words = slices.DeleteFunc(slices.Clone(line.Words), func(w driver.LinkerWord) bool {
		return m.opts.Object != asm.COFF && isRuntime(&w) || w.Option == "u" && w.Value == m.needed()
	})
	plain, err := m.start(ctx, line.Without(), m.streams.Out)
	fmt.Fprint(m.streams.Err, plain)
	if err != nil {
		if m.mixed != nil {
			m.mixed.report()
		}
		return ChildError(err)
	}
	if m.opts.strict() && m.opts.Use == nil {
		removeOutput(m.output)
		return fmt.Errorf("ld: %s: its optimised code cannot be linked in two steps: %w", m.output, why)
	}
	fmt.Fprintf(m.streams.Err, "%scairn: ld: %s: its optimised code cannot be linked in two steps (%v); it is linked as it is\n", messages, m.output, why)
	return logUntouched(m.output, "its optimised code cannot be linked in two steps", "")
}

// mergedLink is a link in two steps.
type mergedLink struct {
	*ltoLinker
	line     *driver.LinkerLine
	in       *ltoInputs
	tmp      string
	output   string
	messages string            // of the first step
	texts    []string          // it wrote
	thin     map[string]string // the sources of those that are of thin modules
}

// oneLink are the options that one of the two steps must not have: they name outputs of a link, or where code
// of other links is stored.
var oneLink = []string{
	"o", "output", "Map", "M", "print-map", "cref", "reproduce", "t", "trace", "verbose", "dependency-file", "lto-obj-path", "save-temps", "why-extract", "print-archive-stats",
	"thinlto-cache-dir", "thinlto-distributor", "thinlto-distributor-arg", "thinlto-remote-compiler", "thinlto-remote-compiler-arg", "thinlto-remote-compiler-prepend-arg",
}

// inFirst are the options that only the first step has.
var inFirst = []string{"dependency-file", "dependency_info", "object_path_lto", "save-temps", "cache_path_lto", "lldsavetemps", "lldltocache"}

// generate makes lld write the assembly, and returns its messages.
func (m *mergedLink) generate(ctx context.Context) (messages string, err error) {
	if m.line.Apple {
		return m.generateMachO(ctx)
	}
	base := filepath.Join(m.tmp, filepath.Base(m.tmp)) // a name that is in no other directory
	if m.opts.Object == asm.COFF {
		return m.generateCOFF(ctx, base)
	}
	args := append(m.line.Without(oneLink...), "--lto-emit-asm", "-o", base)
	depends := m.line.Value("dependency-file")
	if depends != "" {
		args = append(args, "--dependency-file="+filepath.Join(m.tmp, "depends"))
	}
	if m.messages, err = m.start(ctx, args, io.Discard); err != nil {
		return m.messages, err
	}
	if err := m.findTexts(base); err != nil || depends == "" {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(m.tmp, "depends"))
	if err != nil {
		return "", err
	}
	if rest, ok := bytes.CutPrefix(text, []byte(base+":")); ok {
		escaped := strings.NewReplacer(" ", `\ `, "$", "$$", "#", `\#`).Replace(m.output)
		text = append([]byte(escaped+":"), rest...)
	}
	return "", verb.WriteBytes(&m.streams, depends, text)
}

// findTexts finds what lld wrote: the code of merged modules beside the output, that of each
// thin module beside the module.
func (m *mergedLink) findTexts(base string) error {
	merged, err := filepath.Glob(base + ".lto*.s")
	if err != nil {
		return err
	}
	partition := func(path string) int {
		n, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path, base+".lto."), ".s"))
		return n
	}
	stablesort.Func(merged, func(a, b string) int { return cmp.Or(cmp.Compare(partition(a), partition(b)), cmp.Compare(a, b)) })
	m.texts = merged
	type place struct {
		path   string
		member int
	}
	of := map[string]place{} // by pattern; an input may be named twice
	var clash error
	for i := range m.line.Words {
		input := m.in.words[i]
		if input == nil {
			continue
		}
		for k, module := range input.thin {
			pattern, at := m.thinTexts(base, input, module.member), place{input.path, k}
			if first, ok := of[pattern]; ok && first != at && !strings.Contains(pattern, "*") {
				clash = fmt.Errorf("the linker writes the code of two modules to one file, %s", filepath.Base(pattern))
			}
			of[pattern] = at
			found, err := filepath.Glob(pattern)
			if err != nil {
				return err
			}
			for _, path := range found {
				if !slices.Contains(m.texts, path) {
					m.texts = append(m.texts, path)
					m.thin[path] = module.source
				}
			}
		}
	}
	return clash
}

// thinTexts returns the pattern of the names of the files with the code of a thin module.
func (m *mergedLink) thinTexts(base string, input *ltoInput, member string) string {
	name := strings.TrimSuffix(filepath.Base(input.path), filepath.Ext(input.path))
	switch {
	case input.archive && m.opts.Object == asm.COFF:
		name = filepath.Base(input.path) + strings.TrimSuffix(filepath.Base(member), filepath.Ext(member))
	case input.archive:
		name = filepath.Base(input.path) + "(" + member + " at *)"
	}
	return filepath.Join(filepath.Dir(input.path), filepath.Base(base)+".lto."+name+".s")
}

func (m *mergedLink) removeTexts() {
	if m.line.Apple {
		return // they are in its directory
	}
	for _, path := range m.texts {
		os.Remove(path)
	}
	m.removeUnseen()
}

// objects makes objects of the texts.
func (m *mergedLink) objects(ctx context.Context, clang string) ([]string, error) {
	sources := m.in.sources()
	objects := make([]string, len(m.texts))
	err := each(runtime.NumCPU(), len(m.texts), func(i int) error {
		t := ltoText{output: filepath.Join(m.tmp, fmt.Sprintf("%d.o", i))}
		var err error
		if m.line.Apple {
			err = m.textMachO(ctx, clang, i, &t)
		} else {
			err = m.text(i, &t)
		}
		if err != nil {
			return fmt.Errorf("ld: %w", err)
		}
		objects[i] = t.output
		if t.unit != nil && t.unit.source == "" {
			t.unit.name, t.unit.sources = m.output, sources
		}
		return m.object(ctx, clang, t)
	})
	return objects, err
}

// text reads what lld wrote.
func (m *mergedLink) text(i int, t *ltoText) error {
	src, err := os.ReadFile(m.texts[i])
	if err != nil {
		return err
	}
	t.src = m.in.hide(src)
	if sourceOfText(t.src, nil) == mergedSource {
		t.unit = &ltoUnit{seen: map[string]bool{}}
	} else if source := m.thin[m.texts[i]]; m.opts.Object == asm.COFF && source != "" { // assembly of COFF has no directories
		t.unit = &ltoUnit{name: source, source: source, seen: map[string]bool{}}
	}
	return nil
}

// mergedSource is what the assembly of merged modules has as the name of its source.
const mergedSource = "ld-temp.o"

// relink returns the arguments of the second step.
func (m *mergedLink) relink(objects []string) ([]string, error) {
	var args []string
	lazyFrom := -1 // where the last --start-lib is in args
	placed := false
	for i := range m.line.Words {
		w := &m.line.Words[i]
		input := m.in.words[i]
		if w.Option == "start-lib" {
			lazyFrom = len(args)
		}
		if slices.Contains(inFirst, w.Option) {
			continue
		}
		if input == nil {
			args = append(args, w.Args...)
			continue
		}
		if !placed {
			placed = true
			at := len(args)
			if w.Lazy && lazyFrom >= 0 { // the code is wanted, it must not be looked for
				at = lazyFrom
			}
			args = slices.Insert(args, at, objects...)
		}
		switch {
		case m.keepsWhole(w, input):
			args = append(args, w.Args...)
		case input.archive && input.native && input.universal:
			return nil, fmt.Errorf("ld: %s has machine code and bitcode for several machines, and all of it is loaded: extract one machine by lipo -thin", input.path)
		case input.archive && input.native && m.opts.Object == asm.COFF:
			words, err := m.nativeCOFF(i, w, input)
			if err != nil {
				return nil, fmt.Errorf("ld: %w", err)
			}
			args = append(args, words...)
		case input.archive && input.native:
			path := filepath.Join(m.tmp, fmt.Sprintf("lib%d.a", i))
			if err := nativeArchive(input.path, path, m.line.Fat()); err != nil {
				return nil, fmt.Errorf("ld: %w", err)
			}
			if w.Load != "" {
				args = append(args, w.Load)
			}
			args = append(args, path)
		}
	}
	switch {
	case m.line.Apple:
		return args, m.keepObjects(args, objects)
	case m.line.MSVC:
		return m.relinkMSVC(args)
	case m.opts.Object == asm.COFF:
		return args, nil
	}
	// The first step has checked version scripts against all symbols. The code may lack hidden ones.
	return append(args, "--undefined-version"), nil
}

// say prints the messages of the first step that the second did not repeat, and those of the second.
func (m *mergedLink) say(second string) {
	for line := range strings.Lines(m.messages) {
		if !strings.Contains(second, line) {
			fmt.Fprint(m.streams.Err, line)
		}
	}
	fmt.Fprint(m.streams.Err, second)
}

// sourceNames finds the source file of a function in merged modules.
type sourceNames map[string][]string // by name, the files that define it, in the order of the link

// sources returns the files of the functions in all modules.
func (in *ltoInputs) sources() sourceNames {
	names := sourceNames{}
	for _, m := range in.modules {
		for _, s := range m.Symbols {
			if s.Defined && s.Function {
				name := in.named(s.Name)
				names[name] = append(names[name], m.Source)
			}
		}
	}
	return names
}

// of returns the source file of a function, "" if it is not known. When modules are merged, all but the first
// of static functions with the same name get a number, in the order of the link.
func (n sourceNames) of(function string) string {
	if files := n[function]; len(files) > 0 {
		return files[0]
	}
	for name := function; ; {
		i := strings.LastIndexByte(name, '.')
		if i <= 0 {
			return ""
		}
		name = name[:i]
		number, _, _ := strings.Cut(function[i+1:], ".")
		switch files := n[name]; {
		case len(files) == 2 && isDigits(number):
			return files[1]
		case len(files) == 1:
			return files[0]
		case len(files) > 1:
			return ""
		}
	}
}

func isDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}
