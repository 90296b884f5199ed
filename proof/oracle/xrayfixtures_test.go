//go:build linux && amd64

package oracle

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

var renewXRay = flag.Bool("renew-xray", false, "record the logs of format/xray again")

// xrayFixture is a file of the logs and maps with which the reader is tested too.
func xrayFixture(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "format", "xray", "testdata"}, parts...)...)
}

// fixture returns a log that was recorded once, on another machine perhaps.
func (r *xrayRecording) fixture(t *testing.T) *xrayLog {
	t.Helper()
	said, err := os.ReadFile(xrayFixture("logs", r.name+".truth"))
	if err != nil {
		t.Fatal(err)
	}
	l := &xrayLog{
		name: r.name, file: xrayFixture("logs", r.name+".xray"),
		maps: []string{xrayFixture("maps", r.binary()+".yaml")}, truth: parseXRayTruth(t, string(said)),
	}
	for number := range l.truth.objects {
		if number > 0 {
			l.maps = append(l.maps, fmt.Sprintf("%d=%s", number, objectMap(number)))
		}
	}
	return l
}

// objectMap is the file of the map of a shared object.
func objectMap(number int) string {
	return xrayFixture("maps", fmt.Sprintf("object-%d.yaml", number))
}

// TestXRayRenew records the logs and maps of format/xray, if scripts/xray-fixtures.sh runs it.
func TestXRayRenew(t *testing.T) {
	if !*renewXRay {
		t.Skip("-renew-xray is not given")
	}
	for _, dir := range []string{"logs", "maps"} {
		if err := os.MkdirAll(xrayFixture(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for i := range xrayRecordings {
		r := &xrayRecordings[i]
		t.Run(r.name, func(t *testing.T) {
			if r.foreign() && *xrayResources == "" {
				t.Skip("-xray-aarch64 is not given")
			}
			r.renew(t)
		})
	}
}

func (r *xrayRecording) renew(t *testing.T) {
	l := r.record(t)
	copyFile(t, l.file, xrayFixture("logs", r.name+".xray"))
	writeTestFile(t, xrayFixture("logs", r.name+".truth"), l.truth.said)
	program := l.elf
	if r.program() == "typed" {
		// llvm-xray cannot read a map with typed events. The program without
		// them has the same functions.
		program = buildXRay(t, "events")
	}
	extract(t, program, xrayFixture("maps", r.binary()+".yaml"))
	for number, file := range l.truth.objects {
		if number > 0 {
			extract(t, filepath.Join(filepath.Dir(l.elf), file), objectMap(number))
		}
	}
}

// extract writes the instrumentation map of a program as YAML.
func extract(t *testing.T, program, file string) {
	t.Helper()
	mustHave(t, llvmXRay)
	writeTestFile(t, file, output(t, command(t, llvmXRay, "extract", "-symbolize", program)))
}

func writeTestFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	writeTestFile(t, to, string(data))
}
