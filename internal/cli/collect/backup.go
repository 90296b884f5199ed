package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

func newBackupCmd(s *verb.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "backup URL DIR",
		Short: "Copy a collector while it runs",
		Long: `backup gets a consistent copy of a collector that runs and writes it into DIR, which must not
exist. It has every upload that was acknowledged before backup began, and each once.
To restore it, start cairn collect DIR. DIR gets its name when the copy is complete and
on the disk.

With --tokens, the collector needs a token with role backup (CAIRN_TOKEN).`,
		Example: `  cairn collect backup http://127.0.0.1:7474 /backup/cairn.2026-11-28`,
		Args:    verb.ExactFiles("backup", "a URL and a directory", 2, 2),
		RunE: func(c *cobra.Command, args []string) error {
			return backup(c.Context(), s, args[0], args[1])
		},
	}
}

func backup(ctx context.Context, s *verb.Streams, url, dir string) (err error) {
	base, err := client.CheckURL(url)
	if err != nil {
		return verb.Usagef("backup: %v", err)
	}
	if _, err := os.Lstat(dir); err == nil {
		return fmt.Errorf("%s exists: a backup needs a new directory", dir)
	}
	body, err := client.FromEnvironment().Backup(ctx, base)
	if err != nil {
		return err
	}
	defer body.Close()
	tmp, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".partial-")
	if err != nil {
		return err
	}
	defer verb.Temporary.Add(tmp)()
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }() // if it does not have its name yet
	content, err := depot.Extract(body, tmp)
	if err == nil {
		err = beginJournal(filepath.Join(tmp, "journal"), content.Seq)
	}
	if err != nil {
		return fmt.Errorf("backup of %s: %w", base, err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "%s: %s, %s, %s\n", dir, report.Plural(content.Objects, "object"),
		report.Plural(content.Debug, "debug file"), report.Count(uint64(content.Bytes))+" bytes")
	return syncDir(filepath.Dir(dir))
}

// beginJournal creates a journal whose next record follows the record seq.
func beginJournal(dir string, seq uint64) error {
	j, err := segment.Open(dir, segment.Options{})
	if err != nil {
		return err
	}
	if seq > 0 {
		err = j.Advance(seq)
	}
	return errors.Join(err, j.Close())
}

func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Backup returns a function that writes a copy of the collector.
func (s *single) Backup(ctx context.Context) (func(io.Writer, func() error) error, error) {
	b, err := s.Collector.Backup(ctx)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer, step func() error) error {
		defer b.Release()
		return s.snapshots.WriteBackup(w, b, s.programs, step)
	}, nil
}
