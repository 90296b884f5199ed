package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/lazyregexp"
	"github.com/cairnprof/cairn/internal/verb"
)

// probe assembles the units of a job with probes, unless that was done. bin has the options of the stand-in for the
// assembler.
func (j *rustJob) probe(ctx context.Context, s *verb.Streams, bin string) error {
	if Exists(j.Objects) {
		return nil
	}
	files, err := j.assembly()
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := os.MkdirAll(j.Objects, 0o755); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	var opts ShimOptions
	if found, err := readOptions(filepath.Join(bin, shimOptionsFile), &opts); err != nil || !found {
		return fmt.Errorf("build: %s: %w", filepath.Join(bin, shimOptionsFile), errors.Join(err, fs.ErrNotExist))
	}
	os.Setenv(envSources, j.Source)
	defer os.Unsetenv(envSources)
	return each(runtime.NumCPU(), len(files), func(i int) error { return j.probeUnit(ctx, s, bin, opts, files[i]) })
}

// probeUnit assembles a unit. If no assembler accepts its text, rustc's object stays.
func (j *rustJob) probeUnit(ctx context.Context, s *verb.Streams, bin string, opts ShimOptions, file string) error {
	var messages bytes.Buffer
	object := filepath.Join(j.Objects, stem(file)+".o")
	if err := joinFileNames(file); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	sh := &shim{opts: opts, streams: verb.Streams{In: bytes.NewReader(nil), Out: s.Out, Err: &messages}, dir: bin, direct: true, crate: j.Crate}
	err := sh.Run(ctx, []string{"--no-warn", "-o", object, file})
	if err == nil {
		_, err = messages.WriteTo(s.Err)
		return err
	}
	os.Remove(object)
	if opts.strict() || ctx.Err() != nil {
		_, _ = messages.WriteTo(s.Err)
		return err
	}
	first, _, _ := strings.Cut(messages.String(), "\n")
	return listPlain(s, j.Crate, "its assembly is not accepted: "+strings.TrimSpace(first), j.Stem)
}

// twoNames matches a .file with a directory and a name, which LLVM's assembler alone reads in DWARF 4.
var twoNames = lazyregexp.New(`(?m)^(\t\.file\t[1-9][0-9]* )"((?:[^"\\\n]|\\.)*)" "((?:[^"\\\n]|\\.)*)"$`)

// joinFileNames joins the names in a file of assembly.
func joinFileNames(file string) error {
	text, err := os.ReadFile(file)
	if err != nil || !twoNames().Match(text) {
		return err
	}
	joined := twoNames().ReplaceAllFunc(text, func(line []byte) []byte {
		m := twoNames().FindSubmatch(line)
		if bytes.HasPrefix(m[3], []byte("/")) {
			return fmt.Appendf(nil, "%s\"%s\"", m[1], m[3])
		}
		return fmt.Appendf(nil, "%s\"%s/%s\"", m[1], m[2], m[3])
	})
	return os.WriteFile(file, joined, 0o666)
}

// replacement returns the path of the object with probes in place of rustc's object of that name, "" if there is none.
func (j *rustJob) replacement(name string, object io.ReaderAt) string {
	path := filepath.Join(j.Objects, name)
	if Exists(path) {
		return path
	}
	// The assembly of a crate of one unit has the name of the crate.
	path = filepath.Join(j.Objects, strings.TrimSuffix(filepath.Base(j.Objects), ".cairn.o")+".o")
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if module := objfile.ObjectSource(f); module == "" || module != objfile.ObjectSource(object) {
		return ""
	}
	return path
}

// libraries gives what rustc made without a linker its probes.
func (r *rustRun) libraries(ctx context.Context) error {
	j := &r.job
	library, static := filepath.Join(j.Out, "lib"+r.command.stem()+".rlib"), filepath.Join(j.Out, "lib"+r.command.stem()+".a")
	if r.command.output != "" { // of a command without a directory
		switch filepath.Ext(r.command.output) {
		case ".rlib":
			library = r.command.output
		case ".a":
			static = r.command.output
		}
	}
	for _, path := range []string{library, static} {
		if !Exists(path) {
			continue
		}
		if err := j.probe(ctx, r.s, r.tools.bin); err != nil {
			return err
		}
		output := path
		if path == library {
			output = sidecarOf(path)
		}
		if err := j.rewriteArchive(path, output); err != nil {
			return err
		}
	}
	return nil
}

// sidecarOf returns the path of the archive with the probes of a library.
func sidecarOf(library string) string { return strings.TrimSuffix(library, ".rlib") + rustSidecar }

// rewriteArchive writes a library of rustc as an archive with probes.
func (j *rustJob) rewriteArchive(library, output string) error {
	tmp, err := os.MkdirTemp(filepath.Dir(output), ".cairn-ar-")
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	defer verb.Temporary.Add(tmp)()
	defer verb.RemoveAll(tmp)
	made := filepath.Join(tmp, filepath.Base(output))
	if err := j.writeArchive(library, made); err != nil {
		return fmt.Errorf("build: %s: %w", library, err)
	}
	if err := os.Rename(made, output); err != nil {
		return fmt.Errorf("build: %w", err)
	}
	return nil
}

// writeArchive writes the members of a library, those of Rust with probes.
func (j *rustJob) writeArchive(library, output string) (err error) {
	upstream := rustSidecars{dirs: j.Deps}
	var w arWriter
	each := func(visit func(member string, body *io.SectionReader) error) error {
		return objfile.EachLinkInput(library, func(_ bool, member string, body *io.SectionReader) error {
			if member == "lib.rmeta" {
				return nil
			}
			if !strings.HasSuffix(member, rustObject) {
				return visit(member, body)
			}
			if path := j.replacement(member, body); path != "" {
				return objfile.EachLinkInput(path, func(_ bool, _ string, body *io.SectionReader) error { return visit(member, body) })
			}
			if data := upstream.member(member); data != nil {
				body = io.NewSectionReader(bytes.NewReader(data), 0, int64(len(data)))
			}
			return visit(member, body)
		})
	}
	if err := each(w.plan); err != nil {
		return err
	}
	f, err := os.Create(output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w.to = f
	if err := w.begin(); err != nil {
		return err
	}
	return errors.Join(each(w.member), w.err)
}

// rustSidecars are the archives with the probes of the libraries in some directories.
type rustSidecars struct {
	dirs []string
	read map[string]map[string][]byte // members, by the name that all of them begin with
}

// member returns the object with probes in place of a member of a library, nil if there is none.
func (r *rustSidecars) member(name string) []byte {
	crate, _, _ := strings.Cut(name, ".")
	members, ok := r.read[crate]
	if !ok {
		members = map[string][]byte{}
		for _, dir := range r.dirs {
			path := filepath.Join(dir, "lib"+crate+rustSidecar)
			_ = objfile.EachLinkInput(path, func(_ bool, member string, body *io.SectionReader) error {
				data := make([]byte, body.Size())
				_, err := io.ReadFull(body, data)
				members[member] = data
				return err
			}) // without it the member stays as it is, and is listed at the link
		}
		if r.read == nil {
			r.read = map[string]map[string][]byte{}
		}
		r.read[crate] = members
	}
	return members[name]
}
