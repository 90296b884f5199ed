package toolchain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/instrument/prove"
	"github.com/cairnprof/cairn/internal/instrument/split"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// proofEvent is the result of proving an object: a line of the build log.
type proofEvent struct {
	Source string `json:"source"`
	Object string `json:"sha256"`           // of the changed object
	Layout bool   `json:"layout,omitempty"` // it is laid out by a profile, and has no probes
	prove.Certificate
}

// checkProve refuses --prove for builds whose objects cannot be proved.
func (f *InstrumentFlags) checkProve() error {
	if f.Shim.Prove && f.Shim.Mode.Timed() {
		return verb.Usagef("--prove: not supported for modes that measure time, such as %s", f.Shim.Mode)
	}
	return nil
}

// proving is what is proved of an object, and how it is said if that is wrong.
type proving struct {
	objects func(plain, other *objfile.Relocatable) prove.Certificate
	layout  bool
	differ  string // what changes what the code does
	hint    string // what to do
}

var (
	provingProbes = proving{prove.Objects, false, "the probes change", "exclude the function with --skip, and report a bug"}
	provingLayout = proving{proveLayouts, true, "the layout changes", "build without --use, or with --no-split, and report a bug"}
)

func proveLayouts(plain, laid *objfile.Relocatable) prove.Certificate {
	return prove.Layouts(plain, laid, split.ColdSection, func(name string) bool { return !split.NeverReturns(name) })
}

// proveObject compares the object that the assembler made from a changed text with the one of the plain
// text, src. It removes an object that differs.
func (sh *shim) proveObject(ctx context.Context, args []string, src []byte, source string, of proving) error {
	output := asOutput(args)
	if info, err := os.Stat(output); err == nil && !info.Mode().IsRegular() {
		return nil // /dev/null, which configure likes: there is no object to judge
	}
	dir, err := os.MkdirTemp("", "cairn-prove-")
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	defer verb.RemoveAll(dir)
	twin := filepath.Join(dir, "plain.o")
	if err := sh.assemble(ctx, append(withoutOutputs(args), "-o", twin), src); err != nil {
		return err
	}
	plain, err := objfile.OpenRelocatable(twin)
	if err != nil {
		return fmt.Errorf("as: %s: the object without probes: %w", source, err)
	}
	probed, err := objfile.OpenRelocatable(output)
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	data, err := os.ReadFile(output)
	if err != nil {
		return fmt.Errorf("as: %w", err)
	}
	digest := sha256.Sum256(data)
	event := proofEvent{Source: source, Object: hex.EncodeToString(digest[:]), Layout: of.layout, Certificate: of.objects(plain, probed)}
	if err := logEvent(buildEvent{Proof: &event}); err != nil {
		return err
	}
	if !event.Different() {
		return nil
	}
	for _, f := range event.Findings {
		if f.Different {
			fmt.Fprintf(sh.streams.Err, "cairn: %s: %s%s what the code does: %s\n", source, functionPrefix(f.Function), of.differ, f.Why)
		}
	}
	fmt.Fprintf(sh.streams.Err, "cairn: %s: the object is removed; %s\n", source, of.hint)
	os.Remove(output)
	return verb.ExitError(1)
}

func functionPrefix(name string) string {
	if name == "" {
		return ""
	}
	return name + ": "
}

// asOutput returns the file that an assembler writes.
func asOutput(args []string) string {
	output := "a.out"
	for i, a := range args {
		switch {
		case a == "-o" && i+1 < len(args):
			output = args[i+1]
		case strings.HasPrefix(a, "-o") && len(a) > 2:
			output = a[2:]
		}
	}
	return output
}

// withoutOutputs returns an assembler's arguments without those that name output files.
func withoutOutputs(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-o" || a == "--MD":
			i++
		case strings.HasPrefix(a, "-o"), strings.HasPrefix(a, "-a") && !strings.HasPrefix(a, "-arch"):
		default:
			out = append(out, a)
		}
	}
	return out
}

// proofSummary is the certificate of a build: what was proved of its objects.
type proofSummary struct {
	Version      string       `json:"cairn"`
	Mode         string       `json:"mode"`
	Functions    int          `json:"functions"`
	Proved       int          `json:"proved"`
	Instructions int          `json:"instructions"`
	Probes       int          `json:"probes"`
	Objects      []proofEvent `json:"objects"`
}

func newProofSummary(mode string) *proofSummary {
	return &proofSummary{Version: verb.BuildVersion(debug.ReadBuildInfo()).Version, Mode: mode, Objects: []proofEvent{}}
}

func (p *proofSummary) add(e *proofEvent) {
	p.Functions += e.Functions
	p.Proved += e.Proved
	p.Instructions += e.Instructions
	p.Probes += e.Probes
	p.Objects = append(p.Objects, *e)
}

// Certify writes the certificate of a build to a file, if one is named.
func (b *buildSummary) Certify(s *verb.Streams, file string) error {
	if b.Proof == nil {
		b.Proof = newProofSummary(b.Mode)
	}
	if file != "" {
		return verb.WriteFile(s, file, func(w io.Writer) error { return report.WriteJSON(w, b.Proof) })
	}
	return nil
}

// Different reports whether an object differs from the plain one. Its compiler failed, but the build may have
// continued.
func (p *proofSummary) Different() bool {
	return p != nil && slices.ContainsFunc(p.Objects, func(e proofEvent) bool { return e.Different() })
}

// maxFindings bounds the functions that the summary names as not proved.
const maxFindings = 8

// print writes the share of functions that are proved, and why others are not.
func (p *proofSummary) print(s *verb.Streams) {
	what, probes := "probes do", ", "+report.Count(uint64(p.Probes))+" probes"
	if len(p.Objects) > 0 && p.Objects[0].Layout {
		what, probes = "the layout does", ""
	}
	fmt.Fprintf(s.Err, "  proved: %s not change %s of %s: %s instructions%s\n",
		what, report.Count(uint64(p.Proved)), report.Plural(p.Functions, "function"), report.Count(uint64(p.Instructions)), probes)
	left := maxFindings
	for i := range p.Objects {
		for _, f := range p.Objects[i].Findings {
			what := "not proved"
			if f.Different {
				what = "different"
			}
			if left--; left >= 0 {
				fmt.Fprintf(s.Err, "  %s: %s: %s%s\n", what, p.Objects[i].Source, functionPrefix(f.Function), f.Why)
			}
		}
	}
	if left < 0 {
		fmt.Fprintf(s.Err, "  not proved: %s more; --certificate FILE lists them\n", report.Plural(-left, "function"))
	}
}
