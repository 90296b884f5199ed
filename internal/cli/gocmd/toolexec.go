package gocmd

import (
	"context"
	"errors"

	"github.com/cairnprof/cairn/internal/gobuild"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

// AsToolexec returns a function that runs a tool of the go command, if cairn was started for
// it.
func AsToolexec(args []string, s verb.Streams) (func(context.Context) error, bool) {
	if len(args) < 2 || args[1] != gobuild.ToolexecName {
		return nil, false
	}
	return func(ctx context.Context) error {
		cfg, rest, err := gobuild.ParseArgs(args[2:])
		if err != nil {
			return err
		}
		err = gobuild.Tool(ctx, cfg, rest, s.Out, s.Err)
		var exit gobuild.ExitError
		if errors.As(err, &exit) {
			return verb.ExitError(exit)
		}
		if err == nil && !cfg.Mode.Timed() {
			if output := gobuild.Linked(rest); output != "" {
				toolchain.KeepMap(&s, output)
			}
		}
		return err
	}, true
}
