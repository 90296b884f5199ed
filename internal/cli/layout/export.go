package layout

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/cli/profile"
	"github.com/cairnprof/cairn/internal/export/deliver"
	"github.com/cairnprof/cairn/internal/output/profilefile"
	"github.com/cairnprof/cairn/internal/verb"
)

// Export returns the command cairn export.
func Export(s *verb.Streams) *cobra.Command {
	var f profilefile.Choice
	formats := profilefile.Formats()
	c := &cobra.Command{
		Use:   "export FILE.mip [BINARY] {--format FORMAT [-o FILE] | --otlp URL | --pyroscope URL | --parca URL | --parquet DIR}",
		Short: "Convert a profile for compilers, linkers, profile stores and databases",
		Long:  fmt.Sprintf(exportLong, formats.Help(), deliver.HeadersVariable),
		Example: `  cairn export app.mip --format llvm-sample app -o app.prof
  clang -O2 -g -fprofile-sample-use=app.prof *.c -o app
  cairn export http://collector:7474/app app --otlp http://localhost:4318
  cairn export http://collector:7474 --parquet fleet
  duckdb -c "SELECT function, sum(runs) FROM 'fleet/functions.parquet' GROUP BY ALL"`,
		Args: profile.Takes(&f.Choice),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.Stores.Check(c, "format", "output"); err != nil {
				return err
			}
			return f.Write(c.Context(), s)
		},
	}
	profile.RegisterProfile(c, &f.Choice)
	formats.Register(c, &f.Format, "", "")
	c.Flags().StringVar(&f.Binary, "binary", "", "the `binary` that ran, or that the export is for")
	verb.Hide(c, "binary")
	c.Flags().StringVarP(&f.Out, "output", "o", "-", "write to this `file`")
	f.Stores.Register(c)
	c.Flags().StringVar(&f.Parquet, "parquet", "", "write tables for DuckDB, ClickHouse and Spark into this `directory`, or to s3://BUCKET/PREFIX")
	verb.Rules(c, verb.Excludes("parquet", "format", "output", "binary", "otlp", "pyroscope", "parca"))
	return c
}

const exportLong = `export writes a profile in a format that other tools read. Formats:

%s
Data that the profile must have:

  llvm-sample, pprof       call counts: mode count, better full
  bolt                     callers: mode full; with branches: mode edge
  bolt-blocks              block coverage: mode block or full
  pgo                      of Go programs call counts: mode count; of others callers:
                           mode full, or cairn order --run
  chromium, llvm-temporal  the order of first executions: order, count or full

BINARY is the binary that ran, with its debug information, or for a profile of mode
edge a build without probes that has its map beside it (cairn build --map). Only bolt
and chromium accept a binary of any other build: bolt then has the number of calls of each
function, but not their callers. Without it, chromium lists all names unchanged.
llvm-temporal does not use a binary.

Call counts of functions and coverage of blocks are exact, and in mode edge also
executions of blocks, branches and direct calls. Else counts of single blocks
and call sites are not recorded but derived from the call counts, as the guide
explains under "Feeding compilers". The reverse of llvm-temporal is cairn import.

--otlp, --pyroscope and --parca send the profile to a profile store, as format pprof or
otlp has it: the calls of functions, or if they were not counted, the runs in which they
ran. A URL of --otlp without a path gets /v1development/profiles. Headers of the
requests, such as "Authorization=Bearer ...", are in %s, and for OTLP
also in OTEL_EXPORTER_OTLP_HEADERS. cairn convert sends logs of calls, and cairn profgen
samples, with the same flags.

--parquet writes the tables builds, functions, edges, orders, days and spikes as files
NAME.parquet. FILE.mip can be the URL of a collector: the tables then have all its
programs and builds. Days and spikes come only from collectors. With s3://BUCKET/PREFIX the
files go to Amazon S3 or another store with its API; the variables AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL have the keys, the
region and the address of another store.`
