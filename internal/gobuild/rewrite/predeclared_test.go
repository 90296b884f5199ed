package rewrite

import (
	"go/types"
	"maps"
	"slices"
	"testing"
)

func TestPredeclared(t *testing.T) {
	t.Parallel()
	if got, want := slices.Sorted(maps.Keys(predeclared)), types.Universe.Names(); !slices.Equal(got, want) {
		t.Errorf("%q, go/types has %q", got, want)
	}
}
