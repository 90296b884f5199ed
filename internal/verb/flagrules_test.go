package verb

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFlagRules(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"", ""},
		{"--lines", ""},
		{"--lines --paths", "--lines and --paths cannot be used together"},
		{"--lines --paths=false", ""},
		{"--paths --blocks --lines", "--lines and --paths cannot be used together"},
		{"--step --dso a", "--dso cannot be used with --step: it records all libraries"},
		{"--dso a --paths", ""},
		{"--lookback 3", "--lookback needs --from"},
		{"--lookback 3 --from 1", ""},
		{"--service a", "--service needs --otlp, --parca or --from"},
		{"--service a --parca b", ""},
		{"--cert a", "--cert needs --key"},
		{"--key a", "--key needs --cert"},
		{"--cert a --key a", ""},
	} {
		c := &cobra.Command{Use: "test", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error { return nil }}
		for _, name := range []string{"lines", "paths", "blocks", "step"} {
			c.Flags().Bool(name, false, "")
		}
		for _, name := range []string{"dso", "lookback", "from", "service", "otlp", "parca", "cert", "key"} {
			c.Flags().String(name, "", "")
		}
		Rules(c, Together("cert", "key"), Needs("lookback", "from"))
		Rules(c, OnlyOne("lines", "paths", "blocks"), Excludes("dso", "step").Because("it records all libraries"), Needs("service", "otlp", "parca", "from"))
		c.SetArgs(strings.Fields(test.args))
		got := ""
		if err := c.Execute(); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%q: %q, not %q", test.args, got, test.want)
		}
	}
}
