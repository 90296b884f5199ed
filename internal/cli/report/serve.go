package report

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/inputs/reportset"
	"github.com/cairnprof/cairn/internal/page/site"
	"github.com/cairnprof/cairn/internal/verb"
)

type serveFlags struct {
	reportset.Choice
	listen string
}

// Serve returns the command cairn serve.
func Serve(s *verb.Streams) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve FILE|DIR|URL...",
		Short: "Serve the report to a browser while runs come in",
		Long: `serve shows the page of cairn report to browsers on this machine. When an input changes
or a file is added to a directory, it reads the inputs again and open pages show the new
data. The same happens when a collector whose profile is shown gets new runs. serve prints
its address, one line on standard output. Ctrl-C ends it.

` + about,
		Example: `  cairn serve raws/ app
  cairn serve --listen 127.0.0.1:8080 app.mip app
  cairn serve http://collector:7474/app app`,
		Args: verb.ExactFiles("serve", "a profile, a log or a directory", 1, -1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args) },
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:0", "the `address` to listen on, of this machine only; port 0 selects a free port")
	register(c, &f.Choice)
	return c
}

func (f *serveFlags) run(ctx context.Context, s *verb.Streams, args []string) error {
	for _, arg := range args {
		if _, err := os.Stat(arg); err != nil && !verb.IsURL(arg) {
			return err
		}
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return verb.Usagef("serve: --listen %s is for other machines, too: serve shows sources to everyone who connects, and is for this machine only", f.listen)
	}
	f.Served = true
	site := site.New(s.Err)
	defer site.Close()
	asked := reportset.RemoteState(ctx, args, "")
	was := reportset.FilesState(args)
	site.Set(f.Shown(ctx, s, args))
	fmt.Fprintf(s.Out, "http://%s/\n", listener.Addr())
	server := &http.Server{Handler: site.Handler(), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		f.watch(ctx, s, args, inputState{was, asked}, site)
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if server.Shutdown(ending) != nil { // event streams are open
			server.Close()
		}
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// inputState changes with the inputs of a report: files, and profiles of collectors.
type inputState struct{ files, remote string }

// watch builds a new report when inputs have changed, until ctx ends. It waits for files that
// are being written.
func (f *serveFlags) watch(ctx context.Context, s *verb.Streams, args []string, shown inputState, site *site.Site) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	was, now := shown, shown
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now.files = reportset.FilesState(args)
		if n%askEvery == 0 {
			now.remote = reportset.RemoteState(ctx, args, now.remote)
		}
		if now.files == was.files && now != shown {
			shown = now
			for _, arg := range args {
				verb.Forget(arg)
			}
			site.Set(f.Shown(ctx, s, args))
		}
		was = now
	}
}

const (
	// pollEvery is how often files are looked at for changes.
	pollEvery = time.Second
	// askEvery is the interval at which collectors are asked for changes, in multiples of that
	// of files.
	askEvery = 2
)
