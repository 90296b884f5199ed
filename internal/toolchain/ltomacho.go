package toolchain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/bitcode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/internal/verb"
)

// In the place of Apple's linker, lld writes no assembly and starts no distributor. But each object that it makes of
// bitcode can have, in a section, the bitcode that its code was made of, after all optimisation. In the first of two steps
// it keeps these objects. clang generates code from that bitcode again, as assembly: the same instructions, as both have
// LLVM's code generator of one version, and what affects it is in the bitcode, or on the command line.

const (
	embedBitcode    = "-lto-embed-bitcode=optimized"
	embeddedSection = "__LLVM,__bitcode"
)

// firstMachO are the options that the first step has with another value, or not at all: they name outputs of a link, or
// where code of other links is stored.
var firstMachO = []string{"o", "map", "object_path_lto", "cache_path_lto", "dependency_info", "reproduce", "time-trace", "t", "whatsloaded", "why_load", "whyload", "why_live"}

// generateMachO makes lld write objects with their bitcode, and returns its messages.
func (m *mergedLink) generateMachO(ctx context.Context) (messages string, err error) {
	dir := filepath.Join(m.tmp, "linked")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	output := filepath.Join(m.tmp, filepath.Base(m.output))
	args := append(m.line.Without(firstMachO...), "-o", output, "-object_path_lto", dir, "-mllvm", embedBitcode)
	depends := m.line.Value("dependency_info")
	if depends != "" {
		args = append(args, "-dependency_info", filepath.Join(m.tmp, "depends"))
	}
	if m.messages, err = m.start(ctx, args, io.Discard); err != nil {
		return m.messages, err
	}
	if m.texts, err = filepath.Glob(filepath.Join(dir, "*.lto.o")); err != nil {
		return "", err
	}
	stablesort.Func(m.texts, func(a, b string) int { return cmp.Compare(taskOf(a), taskOf(b)) })
	if m.line.Has("save-temps") {
		if err := m.moveTemps(output); err != nil {
			return "", err
		}
	}
	if depends == "" {
		return "", nil
	}
	info, err := os.ReadFile(filepath.Join(m.tmp, "depends"))
	if err != nil {
		return "", err
	}
	return "", verb.WriteBytes(&m.streams, depends, m.dependencies(info, output))
}

// dependencies returns what -dependency_info wrote of the first step with the output of the link, and without files that
// are removed. Each record is a byte, which says what the file is, and a path that ends in a byte of 0.
func (m *mergedLink) dependencies(info []byte, output string) []byte {
	var out []byte
	for record := range bytes.SplitAfterSeq(info, []byte{0}) {
		switch path := bytes.TrimSuffix(record[min(1, len(record)):], []byte{0}); {
		case string(path) == output:
			out = append(append(append(out, record[0]), m.output...), 0)
		case !bytes.HasPrefix(path, []byte(m.tmp+"/")):
			out = append(out, record...)
		}
	}
	return out
}

// taskOf returns the number that lld gave to an object: 0 for merged modules.
func taskOf(path string) int {
	number, _, _ := strings.Cut(filepath.Base(path), ".")
	n, _ := strconv.Atoi(number)
	return n
}

// moveTemps moves what -save-temps wrote beside the output of the first step to that of the link.
func (m *mergedLink) moveTemps(output string) error {
	files, err := filepath.Glob(output + "*.*")
	if err != nil {
		return err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := verb.WriteBytes(&m.streams, m.output+strings.TrimPrefix(path, output), text); err != nil {
			return err
		}
	}
	return nil
}

// textMachO makes the assembly of the code of an object.
func (m *mergedLink) textMachO(ctx context.Context, clang string, i int, t *ltoText) error {
	path := m.texts[i]
	object, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	data, err := objfile.MachOSection(io.NewSectionReader(bytes.NewReader(object), 0, int64(len(object))), embeddedSection)
	if err != nil {
		return err
	}
	if data == nil {
		return errors.New("this linker does not keep bitcode in objects")
	}
	mod, err := bitcode.Read(data)
	if err != nil {
		return err
	}
	if t.unit = (&ltoUnit{seen: map[string]bool{}}); mod.Source != mergedSource {
		t.unit.name, t.unit.source = mod.Source, mod.Source
	}
	if err := os.WriteFile(path+".bc", data, 0o600); err != nil {
		return err
	}
	var text, messages bytes.Buffer
	cmd := exec.CommandContext(ctx, clang, append(codegenArgs(m.line), "--target="+m.in.modules[0].Target, "-S", "-o", "-", path+".bc")...)
	cmd.Stdout, cmd.Stderr = &text, &messages
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", clang, err, bytes.TrimSpace(messages.Bytes()))
	}
	t.src = text.Bytes() // lld hides no bitcode of -hidden-l
	return nil
}

// codegenArgs returns the arguments of clang that generate code of optimised bitcode as the linker does.
func codegenArgs(line *driver.LinkerLine) []string {
	level := "2"
	for i := range line.Words {
		switch name := line.Words[i].Option; {
		case name == "lto-O3":
			level = "3"
		case strings.HasPrefix(name, "lto-O"):
			level = "2" // lld generates code at 2 or 3
		}
	}
	for i := range line.Words {
		if n, ok := strings.CutPrefix(line.Words[i].Option, "lto-CGO"); ok {
			level = n
		}
	}
	args := []string{"-x", "ir", "-O" + level, "-Xclang", "-disable-llvm-passes", "-Wno-override-module", "-Wno-unused-command-line-argument"}
	for i := range line.Words {
		switch w := &line.Words[i]; {
		case w.Option == "mllvm":
			args = append(args, "-mllvm", w.Value)
		case w.Option == "mcpu":
			args = append(args, "-Xclang", "-target-cpu", "-Xclang", w.Value)
		case w.Option == "icf" && w.Value != "none" && w.Value != "all":
			args = append(args, "-faddrsig")
		}
	}
	return args
}

// keepObjects puts the objects of the second step where lld would keep those that it makes: dsymutil reads their debug
// information.
func (m *mergedLink) keepObjects(args, objects []string) error {
	kept := m.line.Value("object_path_lto")
	for i, object := range objects {
		var paths []string
		if m.line.Has("save-temps") {
			number := ""
			if n := taskOf(m.texts[i]); n > 0 {
				number = strconv.Itoa(n)
			}
			paths = append(paths, m.output+number+".lto.o")
		}
		if kept != "" {
			path, err := keptPath(kept, m.texts)
			if err != nil {
				return err
			}
			if path == "" {
				path = filepath.Join(kept, filepath.Base(m.texts[i]))
			}
			args[slices.Index(args, object)] = path
			paths = append(paths, path)
		}
		for _, path := range paths {
			text, err := os.ReadFile(object)
			if err != nil {
				return err
			}
			if err := verb.WriteBytes(&m.streams, path, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepsWhole reports whether the second step has an archive as it is. Debug information of its members with machine code is
// found in it later. The linker takes none with bitcode, as all names that are needed are defined, unless it is to take all.
func (m *mergedLink) keepsWhole(w *driver.LinkerWord, input *ltoInput) bool {
	return m.line.Apple && input.archive && (input.native || input.universal) && w.Load != "-force_load" && !m.line.Has("all_load", "ObjC")
}

// keptPath returns the file in which the operand of -object_path_lto keeps the only object, "" if it is a directory, which
// it is made where several are kept.
func keptPath(operand string, objects []string) (string, error) {
	if info, err := os.Stat(operand); err == nil && info.IsDir() {
		return "", nil
	}
	if len(objects) == 1 && taskOf(objects[0]) == 0 {
		return operand, nil
	}
	return "", os.MkdirAll(operand, 0o755)
}

// named returns a symbol of bitcode as functions in assembly are named.
func (in *ltoInputs) named(symbol string) string {
	if in.apple {
		return strings.TrimPrefix(symbol, "_")
	}
	return symbol
}
