package toolchain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/driver"
)

// For Windows lld has other options, and names what it writes of archives in another way. It extracts members of archives by
// their index only.

// firstMSVC are the options of lld-link that the first step does not have: they name outputs of a link, or where code of other
// links is stored.
var firstMSVC = []string{
	"out", "pdb", "map", "lldmap", "implib", "reproduce", "time-trace", "lto-obj-path", "lldsavetemps", "lldltocache", "lldltocachepolicy",
	"thinlto-distributor", "thinlto-distributor-arg", "thinlto-remote-compiler", "thinlto-remote-compiler-arg", "thinlto-remote-compiler-prepend-arg",
}

// firstMinGW are those of lld for mingw-w64 besides the ones that it has as lld for ELF does.
var firstMinGW = []string{"out-implib", "pdb", "output-def"}

// generateCOFF makes lld write assembly, and returns its messages.
func (m *mergedLink) generateCOFF(ctx context.Context, base string) (messages string, err error) {
	var args []string
	if m.line.MSVC {
		args = append(m.line.Without(firstMSVC...), "/lldemit:asm", "/out:"+base)
	} else {
		args = append(m.line.Without(append(firstMinGW, oneLink...)...), "--lto-emit-asm", "-o", base)
	}
	if m.messages, err = m.start(ctx, args, io.Discard); err != nil {
		return m.messages, err
	}
	return "", m.findTexts(base)
}

// nativeCOFF writes the members of an archive that have no bitcode to files, and returns the words that link them as that
// archive was.
func (m *mergedLink) nativeCOFF(word int, w *driver.LinkerWord, input *ltoInput) ([]string, error) {
	if !m.line.MSVC {
		return nil, fmt.Errorf("%s has machine code and bitcode: make an archive of each", input.path)
	}
	var words []string
	err := objfile.EachLinkInput(input.path, func(_ bool, _ string, r *io.SectionReader) error {
		if data, err := bitcodeOf(r, m.line.Fat()); err != nil || data != nil {
			return err
		}
		member, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		path := filepath.Join(m.tmp, fmt.Sprintf("member%d.%d.obj", word, len(words)))
		words = append(words, path)
		return os.WriteFile(path, member, 0o600)
	})
	whole := w.Load == "/wholearchive:" || m.line.Has("wholearchive")
	if err != nil || whole || len(words) == 0 {
		return words, err
	}
	return append(append([]string{"/start-lib"}, words...), "/end-lib"), nil
}

// leaveVariables removes what lld-link would add to the command lines of both steps, which have it.
func (m *mergedLink) leaveVariables() {
	for _, name := range []string{"LINK", "_LINK_"} {
		os.Unsetenv(name)
	}
	if m.line.Has("lldignoreenv") {
		os.Unsetenv("LIB")
	}
}

// relinkMSVC completes the arguments of the second step of lld-link.
func (m *mergedLink) relinkMSVC(args []string) ([]string, error) {
	if m.line.Has("def") && m.line.Value("out") == "" {
		return nil, errors.New("ld: the file of /def may name the output: name it by /out")
	}
	return append(args, "/lldltocache:"+m.unseen(), "/out:"+m.output), nil
}

// unseen is where the second step of lld-link stores code that it makes of thin modules: those of libraries that objects name.
func (m *mergedLink) unseen() string { return filepath.Join(m.tmp, "unseen") }

// reportUnseen logs that such code has no probes.
func (m *mergedLink) reportUnseen() error {
	if found, err := filepath.Glob(filepath.Join(m.unseen(), "llvmcache-*")); err != nil || len(found) == 0 {
		return err
	}
	return logUntouched(m.output, "an object names a library of bitcode (/defaultlib), and the link does not: its code has no probes", "")
}

// removeUnseen removes what the first step of lld-link wrote of such modules.
func (m *mergedLink) removeUnseen() {
	if !m.line.MSVC {
		return
	}
	for _, dir := range m.line.Dirs() {
		paths, _ := filepath.Glob(filepath.Join(dir, filepath.Base(m.tmp)+".lto.*.s"))
		for _, path := range paths {
			os.Remove(path)
		}
	}
}
