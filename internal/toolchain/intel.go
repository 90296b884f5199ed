package toolchain

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/cairnprof/cairn/internal/instrument/catch"
	"github.com/cairnprof/cairn/internal/instrument/driver"
)

// The code of -masm=intel is that of -masm=att, except for inline assembly, which its author wrote in one of the
// syntaxes. So the command is run with the other option, and once more as it is if its source has some.

// envInline is set for the stand-in for the assembler: the file to write to if it gets inline assembly, instead of
// assembling it.
const envInline = "CAIRN_INLINE"

// translate runs a command with AT&T's syntax and with probes. done is false if its source has inline assembly:
// then it made nothing.
func (f *InstrumentFlags) translate(ctx context.Context, in *invocation, p plan) (done bool, err error) {
	found, err := os.CreateTemp("", "cairn-inline-*")
	if err != nil {
		return false, fmt.Errorf("cc: %w", err)
	}
	defer os.Remove(found.Name())
	defer found.Close()
	att := *in
	att.argv = append(slices.Clone(in.argv), driver.ATT...)
	argv, env := f.instrumented(ctx, &att, p)
	var out, messages bytes.Buffer
	run := exec.CommandContext(ctx, in.compiler.Path, argv[1:]...)
	run.Args[0] = argv[0]
	run.Env = append(append(os.Environ(), env...), catch.EnvCaught+"=1", envInline+"="+found.Name())
	run.Stdin, run.Stdout, run.Stderr = in.streams.In, &out, &messages
	failure := ChildError(run.Run())
	if info, err := found.Stat(); err != nil || info.Size() > 0 {
		return false, err
	}
	if _, err := out.WriteTo(in.streams.Out); err != nil {
		return true, err
	}
	if _, err := messages.WriteTo(in.streams.Err); err != nil {
		return true, err
	}
	return true, failure
}

// Marks around inline assembly: of gcc and of clang, and of clang outside functions.
var (
	inlineStart = []byte("#APP\n")
	inlineEnd   = []byte("#NO_APP")
	fileScope   = []byte("# Start of file scope inline assembly")
)

// hasInline reports whether a compiler's output has instructions of inline assembly: barriers have none.
func hasInline(src []byte) bool {
	if bytes.Contains(src, fileScope) {
		return true
	}
	for {
		_, rest, ok := bytes.Cut(src, inlineStart)
		if !ok {
			return false
		}
		text, after, _ := bytes.Cut(rest, inlineEnd)
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
				return true
			}
		}
		src = after
	}
}

// reportInline tells translate that a compiler's output has inline assembly, if it asked.
func reportInline(src []byte) (found bool, err error) {
	file := os.Getenv(envInline)
	if file == "" || !hasInline(src) {
		return false, nil
	}
	return true, os.WriteFile(file, []byte("inline\n"), 0o600)
}
