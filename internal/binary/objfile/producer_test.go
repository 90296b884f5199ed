package objfile

import "testing"

func TestPlainProducer(t *testing.T) {
	t.Parallel()
	for producer, want := range map[string]bool{
		"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g":              true,
		"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -O0":      true,
		"GNU C++17 12.2.0 -mtune=generic -march=x86-64 -g -O0 -Og":    false,
		"GNU C17 12.2.0 -mtune=generic -march=x86-64 -g -O2 -fno-pie": false,
		"GNU C17 12.2.0":       false, // with -gno-record-gcc-switches
		"clang version 22.1.0": false,

		"GNU GIMPLE 12.2.0 -mtune=generic -march=x86-64 -g -O0 -fltrans": false,
		"": false,
	} {
		if got := plainProducer(producer); got != want {
			t.Errorf("%q: %v", producer, got)
		}
	}
}
