//go:build linux && amd64

package oracle

import (
	"bytes"
	"os"
	"testing"

	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/internal/calls/account"
)

// TestXRayCut truncates real logs everywhere, and checks that exactly the calls that are
// complete before the end are counted.
func TestXRayCut(t *testing.T) {
	t.Parallel()
	for i := range xrayRecordings {
		r := &xrayRecordings[i]
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(r.fixture(t).file)
			if err != nil {
				t.Fatal(err)
			}
			const header = 32
			step := 1 + len(data)/2000
			before, whole := uint64(0), countEnters(t, data)
			for n := header; n < len(data); n += step {
				enters := countEnters(t, data[:n])
				if enters < before || enters > whole {
					t.Fatalf("%d calls in the first %d bytes, %d in fewer, %d in all %d", enters, n, before, whole, len(data))
				}
				before = enters
			}
			// All but the last call or two begin before the last record.
			if len(data) > header && before+2 < whole && step == 1 {
				t.Errorf("%d calls without the last byte, %d with it", before, whole)
			}
			for n := range header {
				if _, err := xray.Open(bytes.NewReader(data[:n]), int64(n), "cut"); err == nil {
					t.Errorf("%d bytes are no log", n)
				}
			}
		})
	}
}

// countEnters returns how many calls there are in a log.
func countEnters(t *testing.T, data []byte) uint64 {
	t.Helper()
	log, err := xray.Open(bytes.NewReader(data), int64(len(data)), "cut")
	if err != nil {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	res, err := account.Run(t.Context(), log, account.Options{})
	if err != nil {
		t.Fatalf("%d bytes: %v", len(data), err)
	}
	return res.Total().Enters
}
