package kind

import (
	"os"
	"testing"
)

// BenchmarkOf looks at the source of a program, which is of no kind: every row is tried.
func BenchmarkOf(b *testing.B) {
	data, err := os.ReadFile("kind.go")
	if err != nil {
		b.Fatal(err)
	}
	head := data[:4096]
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			Of(head)
		}
	})
	b.Run("calls", func(b *testing.B) {
		for b.Loop() {
			Among(head, Kind.IsCalls)
		}
	})
}
