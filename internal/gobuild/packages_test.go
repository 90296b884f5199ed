package gobuild_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestPackages compares the bytes of packages, and those that did not run, with the sizes that
// go tool nm prints of the functions that covered lists.
func TestPackages(t *testing.T) {
	cairn, dir := planted(t, "cover", "--only", "command-line-arguments,fmt,strconv,sort")
	raws := t.TempDir()
	do(t, dir, "", []string{"CAIRN_DIR=" + raws}, "./app")
	do(t, dir, "", nil, cairn, "merge", "-o", "app.mip", "app", raws)
	sizes := map[string]uint64{}
	for line := range strings.Lines(do(t, dir, "", nil, "go", "tool", "nm", "-size", "app")) {
		var addr, kind, name string
		var size uint64
		if _, err := fmt.Sscan(line, &addr, &size, &kind, &name); err == nil && strings.ToUpper(kind) == "T" && !strings.Contains(name, "[") {
			sizes[name] += size
		}
	}
	type sum struct {
		covered, total int
		bytes, unused  uint64
	}
	want := map[string]sum{}
	for _, flag := range []string{"--missed=false", "--missed"} {
		var list struct{ Functions []struct{ Name string } }
		if err := json.Unmarshal([]byte(do(t, dir, "", nil, cairn, "covered", "app.mip", flag, "--json")), &list); err != nil {
			t.Fatal(err)
		}
		for _, f := range list.Functions {
			pkg, _, _ := strings.Cut(f.Name, ".")
			s := want[pkg]
			s.total++
			s.bytes += sizes[f.Name]
			if flag == "--missed" {
				s.unused += sizes[f.Name]
			} else {
				s.covered++
			}
			want[pkg] = s
		}
	}
	var got struct {
		Packages []struct {
			Package   string
			Functions struct{ Covered, Total int }
			Bytes     uint64
			Unused    uint64 `json:"unused_bytes"`
		}
	}
	if err := json.Unmarshal([]byte(do(t, dir, "", nil, cairn, "covered", "app.mip", "--packages", "--json")), &got); err != nil {
		t.Fatal(err)
	}
	for _, p := range got.Packages {
		w := want[p.Package]
		if (sum{p.Functions.Covered, p.Functions.Total, p.Bytes, p.Unused}) != w {
			t.Errorf("%+v, want %+v", p, w)
		}
		delete(want, p.Package)
	}
	if f := got.Packages; len(want) > 0 || len(f) < 3 || f[0].Unused == 0 || f[0].Unused == f[0].Bytes {
		t.Errorf("%+v; missing: %v", f, want)
	}
}
