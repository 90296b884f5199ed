package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/mapped"
)

// TestUnmapped names the files that ran where they have other names than the binaries: there are mappings then.
func TestUnmapped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		others []string
		want   string
	}{
		{nil, "the input has no mappings"},
		{
			[]string{"/usr/bin/env", "/lib/libc.so.6", "/opt/app", "/opt/lib.so", "/memfd:x (deleted)"},
			"no file that ran has the name or the build id of copy, only /memfd:x (deleted), /opt/app, /opt/lib.so, /usr/bin/env and 1 more",
		},
		{[]string{"/opt/app", "/lib/libc.so.6"}, "no file that ran has the name or the build id of copy, only /opt/app, /lib/libc.so.6"},
		{
			slices.Repeat([]string{"/opt/app"}, mapped.MaxOthers), // there may be more
			"no file that ran has the name or the build id of copy, only /opt/app, /opt/app, /opt/app, /opt/app and 60 or more others",
		},
	} {
		if got := unmapped([]string{"copy"}, c.others); !strings.HasPrefix(got, c.want+": addresses are assumed") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
