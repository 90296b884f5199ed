package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/inlined"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/instrument/asm"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/internal/profile/coverage"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
	"github.com/cairnprof/cairn/internal/verb"
)

// clang computes calls whose arguments it knows, and then nothing of the called function is left there, in code or in
// debug information. Only its remarks say which functions it inlined. cairn cc asks for these, and the stand-in for the
// assembler puts a list of the calls into the object, which cairn covered reads (format/inlined).

const (
	// envRemarks is set by cairn cc for the stand-in for the assembler: the file of clang's remarks.
	envRemarks = "CAIRN_REMARKS"
	// remarksFile exists if a compiler writes such a file.
	remarksFile = "remarks"
	// maxRemark bounds a line of it.
	maxRemark = 1 << 16
)

// remarkArgs are the options by which clang writes the remarks of its inliners to a file.
func remarkArgs(file string) (args []string) {
	for _, a := range []string{"-opt-record-file", file, "-opt-record-passes", "inline"} {
		args = append(args, "-Xclang", a)
	}
	return args
}

// remarks returns a new file for the remarks of a command, so that it lists what it inlines; "" if it makes no code
// with debug information, or if its user has asked for remarks.
func (f *InstrumentFlags) remarks(c Compiler, cmd *driver.Command, tc driver.Toolchain, args []string) (string, error) {
	if c.Family != driver.Clang || c.cache != nil || !cmd.Compiles || !cmd.Debug || cmd.LTO || cmd.Bitcode || len(cmd.Sources)+len(cmd.Codes) == 0 ||
		f.Shim.Mode.Timed() || tc.Object != asm.ELF || !Exists(filepath.Join(filepath.Dir(tc.Bin), remarksFile)) {
		return "", nil
	}
	asked := func(a string) bool {
		return strings.HasPrefix(a, "-fsave-optimization-record") || strings.Contains(a, "opt-record")
	}
	if slices.ContainsFunc(args, asked) {
		return "", nil
	}
	file, err := os.CreateTemp("", "cairn-remarks-")
	if err != nil {
		return "", fmt.Errorf("cc: %w", err)
	}
	if err := file.Close(); err != nil {
		return "", fmt.Errorf("cc: %w", err)
	}
	return file.Name(), nil
}

// appendInlined appends to the text of an object the list of calls that were inlined, if there is one, and removes
// the file of remarks.
func (sh *shim) appendInlined(src, out []byte) ([]byte, error) {
	name := os.Getenv(envRemarks)
	if name == "" || sh.opts.Object != asm.ELF || sh.opts.Use != nil {
		return out, nil
	}
	text, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		return out, nil // the assembler of a file that is not the compiler's output
	} else if err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	if err := os.Remove(name); err != nil {
		return nil, fmt.Errorf("as: %w", err)
	}
	if !bytes.Contains(src, []byte(".debug_info")) {
		return out, nil
	}
	calls, defs, ok := inlinedCalls(text)
	if !ok {
		return out, nil
	}
	defs = slices.DeleteFunc(defs, func(d inlined.Def) bool { return coverage.SystemFile(d.File) })
	return probe.AppendRecord(out, inlined.Section, inlined.Encode(calls, defs)), nil
}

// inlinedCalls returns the calls that were inlined, and the definitions of their functions, by clang's remarks in YAML, and
// whether these are as expected.
func inlinedCalls(text []byte) (calls []inlined.Call, defs []inlined.Def, ok bool) {
	passed, callee, at := false, true, 0
	placed := false // this is in the place of the call
	defined := ""   // the function whose place follows
	place := ""     // as much of it as was read
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line[:min(len(line), maxRemark)]), "\n")
		if kind, begins := strings.CutPrefix(line, "--- !"); begins {
			if passed && !callee {
				return nil, nil, false
			}
			passed, callee, at, defined = kind == "Passed", false, 0, ""
			continue
		}
		if defined != "" {
			place += line
			if d, whole := definition(defined, place); whole {
				defs, defined = append(defs, d...), ""
			}
		}
		if !passed || callee {
			continue
		}
		// A place with a long name continues on a line that begins with its line.
		if k := strings.LastIndex(line, " Line: "); k >= 0 && (strings.HasPrefix(line, "DebugLoc:") || placed) {
			number, _, _ := strings.Cut(line[k+len(" Line: "):], ",")
			at, _ = strconv.Atoi(strings.TrimRight(number, " }")) // 0: it is not known
		}
		placed = strings.HasPrefix(line, "DebugLoc:") || placed && strings.HasPrefix(line, "   ")
		if name, is := strings.CutPrefix(line, "  - Callee:"); is {
			callee = true
			defined, place = unquote(strings.TrimSpace(name)), ""
			calls = append(calls, inlined.Call{Func: sourcefunc.Stem(defined), Line: at})
		}
	}
	return calls, defs, !passed || callee
}

// definition returns the definition of a function, from the text that follows its name: none if it has no place. whole is
// set if the text is all of it.
func definition(name, text string) (defs []inlined.Def, whole bool) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), "DebugLoc:")
	if !ok {
		return nil, true
	}
	rest, ok = strings.CutSuffix(rest, "}")
	if !ok {
		return nil, false
	}
	k := strings.LastIndex(rest, " Line: ")
	file, ok := strings.CutPrefix(strings.TrimSpace(rest[:max(k, 0)]), "{ File: ")
	if !ok {
		return nil, true
	}
	number, _, _ := strings.Cut(rest[k+len(" Line: "):], ",")
	line, err := strconv.Atoi(number)
	path, err2 := filepath.Abs(unquote(strings.TrimSuffix(strings.TrimSpace(file), ",")))
	if err != nil || err2 != nil || line == 0 {
		return nil, true
	}
	name, _, _ = strings.Cut(name, ".llvm.") // of functions that ThinLTO shares
	return []inlined.Def{{Func: name, File: path, Line: line}}, true
}

// unquote returns the text of a scalar of YAML.
func unquote(text string) string {
	if n := len(text); n >= 2 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		return strings.ReplaceAll(text[1:n-1], "''", "'")
	}
	return text
}

// writesRemarks reports whether a compiler writes its remarks to a file.
func (c Compiler) writesRemarks(ctx context.Context, o *ShimOptions) bool {
	if c.Family != driver.Clang || o.Object != asm.ELF || o.Machine == machine.Unknown {
		return false
	}
	dir, err := os.MkdirTemp("", "cairn-remarks-")
	if err != nil {
		return false
	}
	defer verb.RemoveAll(dir)
	file := filepath.Join(dir, "remarks")
	const sample = "static int f(int n) { return n + 1; }\nint g(int n) { return f(n); }\n"
	args := append(append([]string{}, o.Target...), remarkArgs(file)...)
	cmd := exec.CommandContext(ctx, c.Path, append(args, "-O2", "-S", "-o", filepath.Join(dir, "a.s"), "-x", "c", "-")...)
	cmd.Stdin = strings.NewReader(sample)
	if cmd.Run() != nil {
		return false
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	calls, _, ok := inlinedCalls(text)
	return ok && len(calls) == 1 && calls[0].Func == "f"
}
