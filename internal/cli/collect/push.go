package collect

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/push"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// pushFlags specify which files are sent, where, and how fast.
type pushFlags struct {
	to, after        string
	maps, debug      []string
	watch            bool
	interval, settle time.Duration
	maxAge, patience time.Duration
	upload, rate     verb.SizeFlag
}

// Push returns the command cairn push.
func Push(s *verb.Streams) *cobra.Command {
	f := pushFlags{upload: 4 << 20}
	c := &cobra.Command{
		Use:   "push [DIR|PROGRAM|MAP]... --to URL",
		Short: "Send raw files and logs to a collector",
		Long: `push sends the .mipraw and .cairnlog files below the directories to a collector (cairn
collect), and appends .sent to the names of those that it has acknowledged. With --after
delete they are removed, with --after keep they stay as they are. Files that the
collector finds damaged get the suffix .refused, and those that are not in the sample
that the collector asks for .skipped. A file that is sent twice is counted once.

With --watch, push keeps running and looks for new files each --interval. If the
collector cannot be reached or has no room, files stay and push tries again, after
pauses that grow up to ten minutes; without --watch it gives up after --patience. Collectors
that share an object store are given as several URLs, separated by commas.

Files are sent when they are complete. The file of a process that was killed is sent
when the process is gone and the file is --settle old. In a container, run push among
the processes that write: it cannot see those of others.

Of a program with probes its map is sent, or a .mipmap file, which has one: raw files of
builds whose map the collector does not have wait there. A program without a map, as those
of modes spike and stacks, and a debug file are sent as they are, for names of functions;
debuginfod clients can get them from the collector. --debug FILE sends any program so.

The token is in CAIRN_TOKEN, the client's certificate in the PEM files that
CAIRN_CLIENT_CERT and CAIRN_CLIENT_KEY name. HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE are observed.`,
		Example: `  cairn push app --to https://collector:7474
  cairn push /var/lib/app/raws --watch --after delete --to https://collector:7474`,
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVar(&f.to, "to", "", "the `URL` of the collector, or those of its nodes, separated by commas")
	c.Flags().StringArrayVar(&f.maps, "map", nil, "send the map of this `binary`, or this .mipmap file; repeatable")
	c.Flags().StringArrayVar(&f.debug, "debug", nil, "send this program or debug `file`; repeatable")
	verb.Hide(c, "map", "debug")
	c.Flags().BoolVar(&f.watch, "watch", false, "keep running, and send files as they are written")
	c.Flags().DurationVar(&f.interval, "interval", 10*time.Second, "how often --watch looks for files")
	c.Flags().StringVar(&f.after, "after", "mark", "what to do with files that were sent: `mark`, delete or keep")
	c.Flags().DurationVar(&f.settle, "settle", time.Minute, "how long the file of a killed process must be unchanged")
	c.Flags().DurationVar(&f.maxAge, "max-age", 0, "do not send older files, 0 for any age")
	c.Flags().DurationVar(&f.patience, "patience", time.Minute, "how long to try without --watch")
	c.Flags().Var(&f.upload, "upload", "bytes of files in one upload")
	c.Flags().Var(&f.rate, "rate", "send files at no more than this `size` per second; 0 for no limit")
	return c
}

func (f *pushFlags) run(ctx context.Context, s *verb.Streams, dirs []string) error {
	dirs, err := f.take(dirs)
	if err != nil {
		return err
	}
	o := push.Options{
		Dirs: dirs, Settle: f.settle, MaxAge: f.maxAge, MaxBytes: int64(f.upload), Rate: int64(f.rate), Patience: f.patience,
		Debug: f.debug, Client: client.FromEnvironment(), Log: slog.New(slog.NewTextHandler(s.Err, nil)),
	}
	switch {
	case f.to == "":
		return verb.Usagef("push: no collector given; use --to URL")
	case len(dirs)+len(f.maps)+len(f.debug) == 0:
		return verb.Usagef("push: give directories with raw files, or programs")
	case f.watch && len(dirs) == 0:
		return verb.Usagef("push: --watch needs a directory")
	case f.interval <= 0 || f.settle < 0 || f.maxAge < 0 || f.patience < 0:
		return verb.Usagef("push: a duration is negative, or --interval 0")
	}
	for url := range strings.SplitSeq(f.to, ",") {
		if url, err = client.CheckURL(url); err != nil {
			return verb.Usagef("push: --to: %v", err)
		}
		o.URLs = append(o.URLs, url)
	}
	var ok bool
	if o.After, ok = map[string]push.After{"mark": push.Mark, "delete": push.Delete, "keep": push.Keep}[f.after]; !ok {
		return verb.Usagef("push: --after %s: mark, delete and keep are known", f.after)
	}
	for _, path := range f.maps {
		m, err := gather.ReadMap(s, path)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		if err := mip.WriteMap(&b, m); err != nil {
			return err
		}
		o.Maps = append(o.Maps, b.Bytes())
	}
	if f.watch {
		return push.New(o).Watch(ctx, f.interval)
	}
	sum, err := push.New(o).Once(ctx)
	fmt.Fprintf(s.Remarks(), "%s: %s sent (%d known)", f.to, report.Plural(sum.Sent, "file"), sum.Known)
	for _, other := range []struct {
		n    int
		what string
	}{{sum.Refused, "refused"}, {sum.Skipped, "skipped"}, {sum.Waiting, "not complete yet"}} {
		if other.n > 0 {
			fmt.Fprintf(s.Remarks(), ", %d %s", other.n, other.what)
		}
	}
	fmt.Fprintln(s.Remarks())
	return err
}

// take returns the directories among the arguments, and keeps the programs and maps: of a program that has a map that is
// sent, otherwise the program.
func (f *pushFlags) take(args []string) (dirs []string, err error) {
	args, binaries := verb.SplitBinaries(args)
	for _, path := range binaries {
		if gather.HasMap(path) {
			f.maps = append(f.maps, path)
		} else {
			f.debug = append(f.debug, path)
		}
	}
	for _, path := range args {
		st, err := os.Stat(path)
		if err != nil || st.IsDir() {
			dirs = append(dirs, path) // push says what is wrong with it
			continue
		}
		head, err := verb.ReadHead(path)
		switch {
		case err != nil:
			return nil, err
		case kind.Of(head) == kind.Map:
			f.maps = append(f.maps, path)
		default:
			return nil, verb.Usagef("push: %s: it is %v: give a directory, of which raw files and logs are sent, a program or its map", path, kind.Of(head))
		}
	}
	return dirs, nil
}
