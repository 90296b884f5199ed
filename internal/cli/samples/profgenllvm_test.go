package samples

import (
	"slices"
	"testing"
)

// TestAsLLVMProfgen checks that cairn takes the options of llvm-profgen if it is run under that
// name.
func TestAsLLVMProfgen(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ args, want []string }{
		{[]string{"/bin/llvm-profgen-22", "-binary=a", "--ps=b", "-o", "c", "-", "-pid", "7"}, []string{"profgen", "--llvm-defaults", "--binary=a", "--ps=b", "-o", "c", "-", "--pid", "7"}},
		{[]string{"llvm-profgen"}, []string{"profgen", "--llvm-defaults"}},
		{[]string{"cairn", "profgen", "-o", "x"}, nil},
		{nil, nil},
	} {
		got, like := AsLLVMProfgen(x.args)
		switch {
		case like != (x.want != nil):
			t.Errorf("%q is llvm-profgen: %v", x.args, like)
		case like && !slices.Equal(got[1:], x.want):
			t.Errorf("%q becomes %q", x.args, got)
		}
	}
}
