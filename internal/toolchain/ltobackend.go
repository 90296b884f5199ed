package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// distribution is the file with which lld starts its distributor: the arguments common to all
// compilations, and those that each job adds.
type distribution struct {
	Common struct {
		Args []string `json:"args"`
	} `json:"common"`
	Jobs []struct {
		Args []string `json:"args"`
	} `json:"jobs"`
}

// distribute compiles the modules of a link, as lld's distributor.
func (l *ltoLinker) distribute(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("lto: no file of jobs is named: this program is started by lld")
	}
	text, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return fmt.Errorf("lto: %w", err)
	}
	var d distribution
	if err := json.Unmarshal(text, &d); err != nil {
		return fmt.Errorf("lto: %s: %w", args[len(args)-1], err)
	}
	common := d.Common.Args
	if len(common) == 0 {
		return fmt.Errorf("lto: %s: no compiler is named", args[len(args)-1])
	}
	workers, pic := runtime.NumCPU(), slices.Contains(common, "-fpic")
	for _, a := range args[:len(args)-1] {
		if n, err := strconv.Atoi(strings.TrimPrefix(a, "--jobs=")); err == nil && n > 0 {
			workers = n
		}
		pic = pic || a == "--pic"
	}
	if !pic {
		common = append(common[:len(common):len(common)], "-fno-pic", "-fno-pie") // the driver's default may be another
	}
	return each(workers, len(d.Jobs), func(i int) error {
		return l.job(ctx, common, d.Jobs[i].Args)
	})
}

// each calls do for 0 to n-1, several at a time, and returns the first error.
func each(workers, n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// job compiles a module to assembly, and makes the object of that. Code whose assembly is not
// accepted is compiled to an object at once.
func (l *ltoLinker) job(ctx context.Context, common, own []string) error {
	argv := slices.Concat(common, own)
	plain := slices.Clone(argv)
	output := ""
	for i, a := range argv {
		switch {
		case a == "-c":
			argv[i] = "-S"
		case a == "-o" && i+1 < len(argv):
			output, argv[i+1] = argv[i+1], "-"
		}
	}
	if output == "" {
		return fmt.Errorf("lto: a job names no output: %q", own)
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, l.streams.Err
	if err := cmd.Run(); err != nil {
		return ChildError(err)
	}
	failure := l.object(ctx, argv[0], ltoText{src: text.Bytes(), output: output, apart: true})
	if failure == nil {
		return nil
	}
	cmd = exec.CommandContext(ctx, plain[0], plain[1:]...)
	cmd.Stderr = l.streams.Err
	if cmd.Run() != nil {
		return failure
	}
	return logUntouched(sourceOfText(text.Bytes(), nil), "its assembly is not accepted", "")
}

// assembler returns a stand-in that assembles by clang, which accepts everything that it writes itself.
func (l *ltoLinker) assembler(clang string) *shim {
	sh := l.shim
	target := []string{"--target=" + targetOf(sh.opts.Machine)}
	if sh.opts.Object != asm.ELF {
		target = slices.Clone(sh.opts.Target)
	}
	sh.opts.Assembler = clang
	sh.opts.AssemblerArgs = append(target, assemblerArgs...)
	return &sh
}

// clangOnly are parts of clang's assembly that GNU as does not know: a type of sections with bitcode, a
// relocation of -fsanitize=hwaddress, and the list of symbols that clang -S writes for its own assembler.
var clangOnly = [][]byte{[]byte("\t.section\t.llvm.lto,"), []byte("@GOTPCREL_NORELAX"), []byte("\n\t.addrsig\n")}

// selectAssembler selects clang as the assembler of a text that only clang reads.
func (sh *shim) selectAssembler(src []byte) {
	only := func(mark []byte) bool { return bytes.Contains(src, mark) }
	if sh.opts.Clang != "" && len(sh.opts.AssemblerArgs) == 0 && slices.ContainsFunc(clangOnly, only) {
		sh.opts.Assembler = sh.opts.Clang
		sh.opts.AssemblerArgs = append(slices.Clone(sh.opts.Target), assemblerArgs...)
	}
}

// assemblerArgs are the arguments of clang as an assembler.
var assemblerArgs = []string{"-c", "-x", "assembler", "-Wno-unused-command-line-argument"}

// uniqueGroup matches the head of a section in a group that is not a COMDAT, such as those of
// the address sanitizer, with a number that distinguishes it from others. clang writes it, but
// cannot read it.
var uniqueGroup = lazyregexp.New(`(?m)^(\t\.section\t[^,\n]+,"[a-zA-Z]*G[a-zA-Z]*",@[^\n]*),unique,([0-9]+)$`)

// withoutUnique removes that number where the group distinguishes the section as well.
func withoutUnique(src []byte) []byte {
	if !bytes.Contains(src, []byte(",unique,")) {
		return src
	}
	numbers := map[string]string{} // by the rest of the line; "" if there are several
	for _, m := range uniqueGroup().FindAllSubmatch(src, -1) {
		head, number := string(m[1]), string(m[2])
		if known, seen := numbers[head]; seen && known != number {
			number = ""
		}
		numbers[head] = number
	}
	if len(numbers) == 0 {
		return src
	}
	return uniqueGroup().ReplaceAllFunc(src, func(line []byte) []byte {
		head, _, _ := bytes.Cut(line, []byte(",unique,"))
		if bytes.HasSuffix(head, []byte(",comdat")) || numbers[string(head)] == "" {
			return line
		}
		return head
	})
}

// ltoUnit has data about code of bitcode that its assembly lacks.
type ltoUnit struct {
	name    string // for messages
	source  string // of all functions, "" for modules that were merged
	sources sourceNames
	seen    map[string]bool // files in whose functions something was changed
}

func (u *ltoUnit) sourceOf(function string) string {
	source := cmp.Or(u.source, u.sources.of(function))
	if source != "" {
		u.seen[source] = true
	}
	return source
}

// ltoText is assembly that a linker made from bitcode, for an object.
type ltoText struct {
	src    []byte
	output string
	apart  bool
	unit   *ltoUnit // nil if the assembly has it
}

// object assembles the code that a linker made from bitcode, with probes or split by the profile.
// If it cannot be rewritten, or the result cannot be assembled, the original text is assembled:
// the link must not fail because of cairn.
func (l *ltoLinker) object(ctx context.Context, clang string, t ltoText) error {
	sh, u := l.assembler(clang), t.unit
	src := withoutUnique(t.src)
	sh.opts.Apart = t.apart
	if u != nil {
		sh.opts.SourceOf = u.sourceOf
	}
	args := []string{"-o", t.output}
	if !sh.isOutput(src) {
		return sh.assemble(ctx, args, src) // data, or inline assembly
	}
	out, event, name, err := sh.rewriteLTO(src, u)
	switch {
	case err != nil:
		return errors.Join(logUntouched(name, "its optimised code is not understood: "+err.Error(), ""),
			sh.assemble(ctx, args, src))
	case event == nil:
		return sh.assemble(ctx, args, src)
	}
	event.LTOLink = os.Getenv(envLTOLink)
	var messages bytes.Buffer
	if sh.assembleTo(ctx, &messages, args, out) != nil {
		if err := sh.assemble(ctx, args, src); err != nil {
			return err
		}
		fmt.Fprintf(sh.streams.Err, "%scairn: %s: the assembler rejected the changed code: report a bug; the plain code is linked\n", messages.Bytes(), name)
		return logEvent(buildEvent{Result: probe.Result{Source: name}, Untouched: "the assembler rejected its changed code", bitcodeEvent: bitcodeEvent{LTOLink: event.LTOLink}})
	}
	if err := logEvent(*event); err != nil {
		return err
	}
	switch {
	case !sh.opts.Prove:
	case event.Split != nil:
		return sh.proveObject(ctx, args, src, name, provingLayout)
	case event.Functions > 0:
		return sh.proveObject(ctx, args, src, name, provingProbes)
	}
	return nil
}

// rewriteLTO returns the changed text; the event for the build's log, or nil if there is
// nothing to change; and the name of the source.
func (sh *shim) rewriteLTO(src []byte, u *ltoUnit) (out []byte, event *buildEvent, name string, err error) {
	x64 := sh.opts.Machine == machine.X86_64
	if sh.opts.Use != nil {
		out, split, err := sh.split(src, x64)
		if err != nil || split == nil {
			return nil, nil, sourceOfText(src, u), err
		}
		return out, &buildEvent{Split: split, bitcodeEvent: bitcodeEvent{Units: u.files()}}, split.Source, nil
	}
	out, result, err := sh.rewrite(src, "", x64)
	if err != nil {
		return nil, nil, sourceOfText(src, u), err
	}
	if u != nil {
		result.Source = u.name
	}
	event = &buildEvent{Result: result, bitcodeEvent: bitcodeEvent{Units: u.files()}, Empty: result.Functions == 0 && len(result.Skipped) == 0}
	return out, event, result.Source, nil
}

// files returns the number of files that the code was made from.
func (u *ltoUnit) files() int {
	if u == nil {
		return 0
	}
	return len(u.seen)
}

// maxSourceName bounds the length of a source's name.
const maxSourceName = 1 << 12

func sourceOfText(src []byte, u *ltoUnit) string {
	if u != nil {
		return u.name
	}
	_, rest, _ := bytes.Cut(src, []byte("\t.file\t\"")) // in the first line, or behind the symbols of COFF
	name, _, _ := bytes.Cut(rest[:min(len(rest), maxSourceName)], []byte("\""))
	return string(name)
}

// targetOf returns a clang target whose assembler is that of a machine.
func targetOf(m machine.Kind) string {
	if m == machine.AArch64 {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}
