package aarch64_test

import (
	"testing"

	"github.com/cairnprof/cairn/internal/binary/aarch64"
)

// TestWritesBack has loads and stores that also change the register of their address.
func TestWritesBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		word     aarch64.Inst
		register int
	}{
		"ld1 {v2.16b}, [x0], #16":           {0x4cdf7002, 0},
		"ld1 {v2.2d, v3.2d}, [x9], x5":      {0x4cc5ad22, 9},
		"ld4r {v2.2d-v5.2d}, [x7], #32":     {0x4dffece2, 7},
		"ld1 {v2.d}[1], [x9], #8":           {0x4ddf8522, 9},
		"st1 {v2.16b}, [x0], #16":           {0x4c9f7002, 0},
		"ldr q2, [x3], #16":                 {0x3cc10462, 3},
		"ldraa x1, [x2, #8]!":               {0xf8201c41, 2},
		"ldp x1, x2, [x3], #16":             {0xa8c10861, 3},
		"ldr x1, [x3, #8]! (of nine bits)":  {0xf8408c61, 3},
		"str x1, [x3, #-8]! (of nine bits)": {0xf81f8c61, 3},
	} {
		if c.word.Writes()>>c.register&1 == 0 {
			t.Errorf("%s: x%d is said to stay", name, c.register)
		}
	}
}
