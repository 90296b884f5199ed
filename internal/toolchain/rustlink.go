package toolchain

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
	"github.com/cairnprof/cairn/internal/verb"
)

// rustLink is the link of a program by rustc, through the driver of a compiler.
type rustLink struct {
	args   []string // with the objects that have probes
	output string
	strip  bool // debug information is to be removed
	plain  bool // nothing of it has probes
}

// link puts objects with probes in the place of rustc's, into the arguments of a driver or a linker.
func (j *rustJob) link(ctx context.Context, s *verb.Streams, w *wrapper, path string, args []string) (l rustLink, err error) {
	if l.args, err = expandResponses(args); err != nil {
		return l, err
	}
	if i := slices.Index(l.args, "-o"); i >= 0 && i+1 < len(l.args) {
		l.output = l.args[i+1]
	}
	if j.Host {
		l.plain = w.opts.Shim.Use != nil || !hasProbes(l.args)
		return l, nil
	}
	if w.opts.Shim.Use == nil {
		l.args, l.strip = withoutStripWords(l.args)
	}
	if !j.Plain {
		c, err := FindCompiler(path)
		if err != nil {
			return l, err
		}
		bin, _, err := w.assemblerDir(ctx, c)
		if err != nil {
			return l, err
		}
		if err := j.probe(ctx, s, bin); err != nil {
			return l, err
		}
	}
	for i, a := range l.args {
		switch {
		case strings.HasPrefix(a, "-"):
		case strings.HasSuffix(a, rustObject) && !j.Plain:
			if l.args[i], err = j.object(a); err != nil {
				return l, err
			}
		case strings.HasSuffix(a, ".rlib"):
			if l.args[i], err = j.library(a); err != nil {
				return l, err
			}
		}
	}
	if slices.ContainsFunc(l.args, func(a string) bool { return rustStandard(a) }) {
		return l, logEvent(buildEvent{linkEvent: linkEvent{RustLibrary: true}})
	}
	return l, nil
}

// rustStandard reports whether an input of a link is Rust's standard library.
func rustStandard(path string) bool {
	return strings.HasPrefix(filepath.Base(path), "libstd-") && strings.Contains(path, "/lib/rustlib/")
}

// expandResponses replaces response files by the arguments in them. rustc writes one if the arguments are too long.
func expandResponses(args []string) ([]string, error) {
	var out []string
	for _, a := range args {
		name, ok := strings.CutPrefix(a, "@")
		if !ok {
			out = append(out, a)
			continue
		}
		text, err := ReadResponse(name)
		if err != nil {
			return nil, fmt.Errorf("build: %w", err)
		}
		out = append(out, driver.SplitResponse(text)...)
	}
	return out, nil
}

// object returns the path of the object with probes in place of one of rustc.
func (j *rustJob) object(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return path, nil // the linker reports it
	}
	defer f.Close()
	if with := j.replacement(filepath.Base(path), f); with != "" {
		return with, nil
	}
	return path, nil
}

// library returns the path of the archive with probes in place of a library. rustc links a copy without some of the
// members if it has compiled these together with the program.
func (j *rustJob) library(path string) (string, error) {
	if with := sidecarOf(path); newerThan(with, path) {
		return with, nil
	}
	if systemInput(path, "") || !strings.HasPrefix(filepath.Base(filepath.Dir(path)), "rustc") {
		return path, nil
	}
	copied := *j
	copied.Objects = ""
	output := sidecarOf(path) // in the directory that rustc removes
	return output, copied.rewriteArchive(path, output)
}

// newerThan reports whether a file exists and is not older than another.
func newerThan(path, other string) bool {
	a, err := os.Stat(path)
	if err != nil {
		return false
	}
	b, err := os.Stat(other)
	return err == nil && !a.ModTime().Before(b.ModTime())
}

// withoutStripWords returns a driver's arguments without those that strip what it links, and whether there were any.
func withoutStripWords(args []string) ([]string, bool) {
	kept := slices.DeleteFunc(slices.Clone(args), func(a string) bool {
		word, _ := strings.CutPrefix(a, "-Wl,")
		return len(driver.WithoutStrip([]string{word})) == 0
	})
	return kept, len(kept) < len(args)
}

// hasProbes reports whether an input of a link, by its arguments, has probes.
func hasProbes(args []string) bool {
	l := mixedLink{}
	for _, a := range args {
		if !strings.HasPrefix(a, "-") && !systemInput(a, "") {
			l.inputs = append(l.inputs, linkInput{path: a})
		}
	}
	return len(l.others()) > 0
}

// finish removes debug information, but for the map, from what was linked, as rustc has asked the linker to do. A
// program that keeps it is only larger.
func (l *rustLink) finish(ctx context.Context, path string) {
	c, err := FindCompiler(path)
	if !l.strip || l.output == "" || err != nil {
		return
	}
	made := l.output + ".cairn"
	cmd := exec.CommandContext(ctx, c.tool(ctx, nil, "objcopy"), "--strip-debug", "--keep-section=.debug.cairn*", l.output, made)
	if cmd.Run() != nil || os.Rename(made, l.output) != nil {
		os.Remove(made)
	}
}
