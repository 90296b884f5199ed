package toolchain

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/layout/linkorder"
)

// useLinker becomes a linker that a build starts itself.
func (w *wrapper) useLinker(ctx context.Context, in *invocation, shim ShimOptions, path string) error {
	argv := in.argv
	b, err := prepareUse(ctx, in.compiler, shim)
	if other := otherMachine(""); errors.As(err, &other) {
		return become(path, argv)
	}
	if err != nil {
		return err
	}
	linker := LinkerAt(ctx, path)
	inputs, _ := linkerInputs(argv[1:])
	link, err := b.linkArgs(in.streams, linker, outputOf(argv), inputs)
	if err != nil {
		return err
	}
	if b.opts.FastStart {
		if err := noteKept(in.streams, outputOf(argv), packedKept, "the build starts the linker itself"); err != nil {
			return err
		}
	}
	argv = append(argv, linkByHand(link)...)
	l := &mixedLink{streams: in.streams, inputs: inputs, events: laidEvents(link, outputOf(argv))}
	if linker.Kind == linkorder.LLD && !b.opts.NoSplit {
		if err := l.logMade(); err != nil { // it may be made by other steps
			return err
		}
		l.events = nil
		return runLTOLinker(ctx, b.dir, path, argv[1:], l)
	}
	return l.run(path, argv)
}

// linkByHand returns the arguments for a linker that a build starts itself:
// those that a driver would make from driverArgs.
func linkByHand(driverArgs []string) []string {
	var out []string
	for i, a := range driverArgs {
		switch words, ok := strings.CutPrefix(a, "-Wl,"); {
		case ok:
			out = append(out, strings.Split(words, ",")...)
		case a == "-Xlinker":
		default:
			out = append(out, driverArgs[i])
		}
	}
	return out
}

// outputOf returns the operand of -o.
func outputOf(args []string) string {
	if i := slices.Index(args, "-o"); i >= 0 && i+1 < len(args) {
		return args[i+1]
	}
	return "a.out"
}
