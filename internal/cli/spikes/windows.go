package spikes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/runtime/nativert"
	"github.com/cairnprof/cairn/internal/toolchain"
	"github.com/cairnprof/cairn/internal/verb"
)

func newSpikePlanCmd(s *verb.Streams) *cobra.Command {
	var f detourFlags
	var out string
	c := &cobra.Command{
		Use:   "plan [flags] -o FILE PROGRAM.EXE",
		Short: "Plan hooks in a program for Windows, to run it where cairn is not",
		Long: `plan writes which functions of a program for Windows are hooked, and how, for the
files that cairn hooks writes: with CAIRN_DETOURS=FILE in the environment,
cairn_detours.exe starts the program with its functions hooked, and a program that loads
cairn_detours.dll is hooked from then on. Where cairn runs, watch run --detours does both.`,
		Example: `  cairn watch plan -o app.plan app.exe`,
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if file, err := objfile.Open(args[0]); err != nil {
				return err
			} else if file.Close(); file.Windows() == nil {
				return fmt.Errorf("watch plan: %s is not a program for Windows: use cairn watch run --detours", args[0])
			}
			d, err := f.planDetours(args[0])
			if err != nil {
				return err
			}
			if err := verb.WriteBytes(s, out, d.file); err != nil {
				return err
			}
			return f.summarize(s, d)
		},
	}
	f.register(c.Flags(), "watch plan", "")
	c.Flags().StringVarP(&out, "output", "o", "-", "`file` to write; - for standard output")
	return c
}

// imageOf returns the path of the program for Windows that a command names, "" for other programs.
func imageOf(name string) string {
	path, err := exec.LookPath(name)
	if err != nil { // on other systems it need not be executable
		path = name
	}
	if head, err := verb.ReadHead(path); err != nil || len(head) < 2 || string(head[:2]) != "MZ" {
		return ""
	}
	return path
}

// runImage runs the program for Windows at path.
func (f *spikeRunFlags) runImage(ctx context.Context, s *verb.Streams, path string, argv []string) error {
	if !f.detours {
		return fmt.Errorf("watch run: %s is a program for Windows: its functions can be hooked with --detours only", path)
	}
	plan, err := f.choose.planDetours(path)
	if err != nil {
		return err
	}
	dir, err := toolchain.WindowsDetours(ctx)
	if err != nil {
		return fmt.Errorf("watch run: %w", err)
	}
	program, command, name := filepath.Join(dir, nativert.DetourFilesCOFF[1]), []string{}, func(path string) string { return path }
	if runtime.GOOS != "windows" {
		wine, err := exec.LookPath("wine")
		if err != nil {
			return errors.New("watch run: a program for Windows needs Wine here, which is not on PATH; for Windows, see cairn watch plan")
		}
		name = func(path string) string { return "Z:" + strings.ReplaceAll(path, "/", `\`) }
		program, command = wine, []string{program}
	}
	tmp, err := verb.PrivateDir("cairn-spike-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	summary, file := filepath.Join(tmp, summaryFile), filepath.Join(tmp, "plan")
	env, err := f.settings(name)
	if path, absolute := filepath.Abs(path); err == nil {
		argv, err = slices.Concat([]string{program}, command, []string{name(path)}, argv[1:]), absolute
	}
	if err = errors.Join(err, os.WriteFile(summary, nil, 0o600), os.WriteFile(file, plan.file, 0o600)); err != nil {
		return err
	}
	if err := f.choose.summarize(s, plan); err != nil {
		return err
	}
	env = append(env, "CAIRN_DETOURS="+name(file), "CAIRN_HOOK_SUMMARY="+name(summary))
	return runHooked(s, verb.InPlaceOfUs(ctx, s, program, argv, env), summary, true)
}
