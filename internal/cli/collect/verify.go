package collect

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

func newVerifyCmd(s *verb.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "verify DIR",
		Short: "Check the directory of a collector for damage",
		Long: `verify reads the journal, the snapshots and all objects in the directory of a collector
that does not run, and prints what is damaged, with offsets and sizes. It changes nothing.
The exit code is 1 if something is damaged.`,
		Example: `  cairn collect verify /var/lib/cairn`,
		Args:    verb.ExactFiles("verify", "one directory", 1, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return verifyDir(s, args[0]) },
	}
}

func newRepairCmd(s *verb.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "repair DIR",
		Short: "Make a damaged directory of a collector usable again",
		Long: `repair makes a collector start again whose snapshots refer to damaged objects. It prints
what is lost. Damaged objects are moved to the directory damaged in DIR. Damage of the
journal needs no repair: a collector that starts keeps all whole records.`,
		Example: `  cairn collect repair /var/lib/cairn`,
		Args:    verb.ExactFiles("repair", "one directory", 1, 1),
		RunE:    func(_ *cobra.Command, args []string) error { return repairDir(s, args[0]) },
	}
}

// lockJournal locks the journal of a collector's directory, which must exist.
func lockJournal(dir string) (path string, lock *journal.Lock, err error) {
	path = filepath.Join(dir, "journal")
	if _, err := os.Stat(path); err != nil {
		return "", nil, fmt.Errorf("%s is not the directory of a collector: %w", dir, err)
	}
	lock, err = journal.TakeLock(path)
	return path, lock, err
}

func verifyDir(s *verb.Streams, dir string) error {
	path, lock, err := lockJournal(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	bad := 0
	content, err := segment.Verify(path, func(d segment.Damage) {
		bad++
		fmt.Fprintln(s.Out, d.String())
	})
	if err != nil {
		return err
	}
	d, err := depot.Open(dir)
	if err != nil {
		return err
	}
	objects, damaged := d.Verify()
	for _, name := range slices.Sorted(maps.Keys(damaged)) {
		bad++
		fmt.Fprintln(s.Out, damaged[name])
	}
	heads, err := d.Heads()
	if err != nil {
		return err
	}
	for i, head := range heads {
		if head.Err != nil {
			bad++
			fmt.Fprintln(s.Out, head.Err)
			continue
		}
		_, err := tally.RestoreParts(head.List, d, tally.Limits{}, func(part string, _ error) error {
			fmt.Fprintf(s.Out, "the %s snapshot cannot be read without: %s\n", [...]string{"newest", "last but one"}[i], part)
			return nil
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintf(s.Out, "%s: %s in %s; %s, %s\n", dir, report.Plural(int(content.Records), "record"),
		report.Plural(content.Segments, "segment"), report.Plural(len(heads), "snapshot"), report.Plural(objects, "object"))
	if bad > 0 {
		return fmt.Errorf("%s: %s damaged", dir, report.Plural(bad, "part")+report.Either(uint64(bad), " is", " are"))
	}
	return nil
}

func repairDir(s *verb.Streams, dir string) error {
	if _, lock, err := lockJournal(dir); err != nil {
		return err
	} else if err := lock.Close(); err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(s.Err, nil))
	j, err := segment.Open(filepath.Join(dir, "journal"), segment.Options{Damaged: func(d segment.Damage) { logDamage(log, &d) }})
	if err != nil {
		return err
	}
	defer j.Close()
	d, err := depot.Open(dir)
	if err != nil {
		return err
	}
	_, damaged := d.Verify()
	for _, name := range slices.Sorted(maps.Keys(damaged)) {
		fmt.Fprintln(s.Out, damaged[name])
		if err := d.SetAside(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	parts := 0
	err = collector.Repair(j, d, collector.Options{Log: log}, func(part string, _ error) {
		parts++
		fmt.Fprintf(s.Out, "lost: %s\n", part)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	if parts == 0 {
		fmt.Fprintf(s.Out, "%s: nothing is lost\n", dir)
	}
	return nil
}
