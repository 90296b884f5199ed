package cli

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/report"
)

func newVersionCmd(s *Streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version [flags]",
		Short: "Say which cairn this is",
		Long: `version prints the version of cairn, the revision that it was built from and the
Go that built it.`,
		Example: "  cairn version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			v := buildVersion(debug.ReadBuildInfo())
			if asJSON {
				return report.WriteJSON(s.Out, v)
			}
			return v.write(s.Out)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

type versionJSON struct {
	Version  string `json:"cairn"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Go       string `json:"go"`
}

// buildVersion takes from the build information what there is of it: a build
// from a module cache has a version, one from a checkout a revision.
func buildVersion(info *debug.BuildInfo, ok bool) versionJSON {
	v := versionJSON{Version: "unknown"}
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	v.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionJSON) write(w io.Writer) error {
	words := []string{"cairn", v.Version}
	if v.Revision != "" {
		words = append(words, v.Revision)
	}
	if v.Modified {
		words = append(words, "modified")
	}
	if v.Go != "" {
		words = append(words, v.Go)
	}
	_, err := fmt.Fprintln(w, strings.Join(words, " "))
	return err
}
