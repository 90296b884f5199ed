package toolchain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/instrument/driver"
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
	line := driver.ParseLinker(argv[1:], ReadResponse)
	linker.refuseOwn(line.OwnOrder())
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

// refuseOwn makes an order of the link's own, which an option gives, a reason for none of ours: linkers have one.
func (l *FoundLinker) refuseOwn(option string) {
	if option != "" && l.Err == nil {
		l.Err = fmt.Errorf("the link has an order of its own (%s): remove it to have that of the profile", option)
	}
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
