package verb

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/pprof"

	"github.com/cairnprof/cairn/internal/export/deliver"
	"github.com/cairnprof/cairn/internal/report"
)

// StoreFlags name profile stores, which get the profile in place of a file.
type StoreFlags struct {
	urls    map[deliver.Kind]*string
	service string
	targets []*deliver.Target
}

// Register adds the flags to a command.
func (f *StoreFlags) Register(c *cobra.Command) {
	f.urls = make(map[deliver.Kind]*string)
	help := map[deliver.Kind]string{
		deliver.OTLP:      "send the profile to this `URL` by OTLP/HTTP, the protocol of OpenTelemetry",
		deliver.Pyroscope: "send the profile to Pyroscope at this `URL`",
		deliver.Parca:     "send the profile to Parca at this `URL`",
	}
	for _, kind := range deliver.Kinds {
		f.urls[kind] = c.Flags().String(string(kind), "", help[kind])
	}
	c.Flags().StringVar(&f.service, "service", "", "`name` of the service in the store (default the program's)")
	Rules(c, Needs("service", "otlp", "pyroscope", "parca"))
}

// Given reports whether there is a store to send to.
func (f *StoreFlags) Given() bool {
	for _, url := range f.urls {
		if *url != "" {
			return true
		}
	}
	return false
}

// Check checks the URLs. Of the flags of c that are named, none can be given with a store.
func (f *StoreFlags) Check(c *cobra.Command, excluded ...string) error {
	for _, kind := range deliver.Kinds {
		if *f.urls[kind] == "" {
			continue
		}
		for _, other := range excluded {
			if c.Flags().Changed(other) {
				return Usagef("--%s sends the profile: omit --%s", kind, other)
			}
		}
		target, err := deliver.New(kind, *f.urls[kind])
		if err != nil {
			return Usagef("--%s: %v", kind, err)
		}
		f.targets = append(f.targets, target)
	}
	return nil
}

// Service returns the name of the service: that of the flag, or else the program's.
func (f *StoreFlags) Service(program string) string {
	if f.service != "" {
		return f.service
	}
	return program
}

// Send sends a profile to all stores.
func (f *StoreFlags) Send(ctx context.Context, s *Streams, p *pprof.Profile, program, buildID string) error {
	about := deliver.About{Service: f.Service(program), BuildID: buildID, Writer: Program()}
	for _, t := range f.targets {
		if err := t.Send(ctx, p, about); err != nil {
			return fmt.Errorf("--%s: %w", t.Kind, err)
		}
		fmt.Fprintf(s.Remarks(), "%s: sent %s of %s\n", t.URL, report.Plural(len(p.Sample), "sample"), about.Service)
	}
	return nil
}
