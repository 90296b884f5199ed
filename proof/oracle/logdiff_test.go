//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogDiff compares what one program did under both recorders of XRay, basic
// and FDR: the times differ, the calls must not, stack by stack. Shared objects
// are left out, as FDR logs do not tell all of them apart.
func TestLogDiff(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob(xrayFixture("logs", "basic-*.xray"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, a := range logs {
		program := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(a), "basic-"), ".xray")
		b, m := xrayFixture("logs", "fdr-"+program+".xray"), xrayFixture("maps", program+".yaml")
		if _, err := os.Stat(b); program == "objects" || err != nil {
			continue
		}
		if _, err := os.Stat(m); err != nil {
			continue
		}
		compared++
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			var doc struct {
				A, B struct{ Calls, Total, Self float64 }
				// Indexes of what changed.
				Changed []int `json:"changed_functions"`
				Moved   []int `json:"moved_stacks"`
				New     []int `json:"new_stacks"`
				Gone    []int `json:"gone_stacks"`
			}
			text := output(t, command(t, cairn, "diff", "--sort", "calls", "--json", "--map", m, a, b))
			if err := json.Unmarshal([]byte(text), &doc); err != nil {
				t.Fatal(err)
			}
			if lists := fmt.Sprint(doc.Changed, doc.Moved, doc.New, doc.Gone); lists != "[] [] [] []" || doc.A.Calls != doc.B.Calls {
				t.Errorf("%g calls and %g; functions, stacks that changed, are new, are gone: %s", doc.A.Calls, doc.B.Calls, lists)
			}
		})
	}
	if compared == 0 {
		t.Fatal("no program was recorded both ways")
	}
}
