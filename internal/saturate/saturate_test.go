package saturate

import (
	"math"
	"testing"
)

func TestAdd(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	for _, test := range []struct{ a, b, want uint64 }{
		{0, 0, 0}, {1, 2, 3}, {most, 0, most}, {most - 1, 1, most}, {most, 1, most}, {most, most, most}, {1 << 63, 1 << 63, most},
	} {
		if got := Add(test.a, test.b); got != test.want {
			t.Errorf("%d+%d: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}

func TestMul(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	for _, test := range []struct{ a, b, want uint64 }{
		{3, 5, 15}, {0, most, 0}, {most, 1, most}, {1 << 63, 2, most}, {1 << 32, 1 << 32, most}, {1 << 32, 1<<32 - 1, most - 1<<32 + 1},
	} {
		if got := Mul(test.a, test.b); got != test.want {
			t.Errorf("%d*%d: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
