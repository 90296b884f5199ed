package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// Pack returns the command cairn pack.
func Pack(s *verb.Streams) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:   "pack -o FILE.mippack FILE|DIR|@LIST...",
		Short: "Pack raw files into one file for transport",
		Long: `pack writes raw files into one small file, to transport them to where their maps are.
A directory stands for all .mipraw files below it; @LIST is a file with a path on
each line. No map is needed.

In modes order and block+order a run takes about a byte for each function that ran,
and half of that if it resembles earlier runs of the same build. cairn merge reads
packs like raw files; cairn unpack restores the files byte for byte.`,
		Example: `  cairn pack -o monday.mippack raws/
  cairn pack -o - raws/ | ssh host 'cat > monday.mippack'`,
		Args: verb.ExactFiles("pack", "raw files or directories", 1, -1),
		RunE: func(_ *cobra.Command, args []string) error { return runPack(s, output, args) },
	}
	c.Flags().StringVarP(&output, "output", "o", "", "the pack to write, a .mippack `file`, or - for standard output")
	return c
}

func runPack(s *verb.Streams, output string, args []string) error {
	if output == "" {
		return verb.Usagef("pack: no output given; use -o FILE.mippack")
	}
	in := gather.Inputs{NoPacks: true} // the pack of last time may be beside the raw files
	for _, arg := range args {
		if err := in.Add(arg); err != nil {
			return err
		}
	}
	in.Dedupe()
	switch {
	case len(in.Bad) > 0:
		return fmt.Errorf("%s: %s", in.Bad[0].File, in.Bad[0].Reason)
	case len(in.Maps)+len(in.Profiles) > 0:
		return fmt.Errorf("%s: not a raw file; only raw files can be packed", append(in.Maps, in.Profiles...)[0])
	case len(in.Raws) == 0:
		return errors.New("nothing to pack: no raw file among the arguments")
	}
	files, total, err := in.ReadRaws(s)
	if err != nil {
		return err
	}
	done := verb.Working(s, "packing %s", report.Plural(len(files), "raw file"))
	pack, err := mippack.Pack(files)
	done()
	if err != nil {
		return err
	}
	if err := verb.WriteBytes(s, output, pack); err != nil {
		return err
	}
	fmt.Fprintf(s.Remarks(), "%s: %s, %s bytes in %s\n", output, report.Plural(len(files), "raw file"), report.Count(total), report.Count(len(pack)))
	return nil
}

// Unpack returns the command cairn unpack.
func Unpack(s *verb.Streams) *cobra.Command {
	var dir string
	var force bool
	c := &cobra.Command{
		Use:   "unpack FILE.mippack... [-C DIR]",
		Short: "Restore the raw files of a pack",
		Long: `unpack restores the raw files of packs, each identical to the packed one. A
directory stands for the packs below it. If one of the files exists, nothing is written,
unless --force is given. cairn merge reads packs directly, without unpack.`,
		Example: "  cairn unpack monday.mippack -C raws",
		Args:    verb.ExactFiles("unpack", "a pack", 1, -1),
		RunE: func(_ *cobra.Command, args []string) error {
			args, err := logfile.ExpandDirs(args, "pack", mippack.Detect)
			if err != nil {
				return err
			}
			for _, path := range args {
				if err := unpack(s, path, dir, force); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&dir, "directory", "C", ".", "write to this `directory`; it is created if missing")
	c.Flags().BoolVarP(&force, "force", "f", false, "overwrite existing files")
	return c
}

func unpack(s *verb.Streams, path, dir string, force bool) error {
	files, err := gather.ReadPack(path)
	if err != nil {
		return err
	}
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		if _, err := os.Lstat(name); err == nil && !force {
			return fmt.Errorf("%s exists: nothing of %s was written (use --force, or another directory with -C)", name, path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	for _, f := range files {
		if err := verb.WriteBytes(s, filepath.Join(dir, f.Name), f.Data); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Remarks(), "%s: %s\n", dir, report.Plural(len(files), "raw file"))
	return nil
}
