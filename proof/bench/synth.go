package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
)

// functions is how many functions the synthetic program has besides main.
const functions = 10000

// synthetic returns the C text of a program that calls a part of its
// functions, another one for every seed in its argument.
func synthetic() string {
	var s strings.Builder
	s.WriteString("#include <stdlib.h>\nvolatile int hits;\n")
	for i := range functions {
		fmt.Fprintf(&s, "__attribute__((noinline)) int f%d(int x) { if (x %% %d) hits++; return x ^ %d; }\n", i, i%7+2, i)
	}
	s.WriteString("int (*const table[])(int) = {\n")
	for i := range functions {
		fmt.Fprintf(&s, "f%d,\n", i)
	}
	fmt.Fprintf(&s, `};
int main(int argc, char **argv) {
  unsigned x = argc > 1 ? atoi(argv[1]) * 2654435761u + 1 : 1, sum = 0;
  for (int i = 0; i < %d; i++) {
    x = x * 1664525u + 1013904223u;
    sum += table[(x >> 8) %% %d](i);
  }
  return sum == 42;
}
`, functions/2, functions)
	return s.String()
}

// program is a build of the synthetic program and where its raw files are.
type program struct {
	path, raws string
	files      int
	bytes      int64
}

// buildSynthetic compiles the synthetic program; what argv runs as "cairn" is
// the program under test.
func (b *bench) buildSynthetic(ctx context.Context, name string, argv ...string) (*program, error) {
	dir := filepath.Join(b.out, "synthetic", name)
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "raws"), 0o755); err != nil {
		return nil, err
	}
	src := filepath.Join(b.out, "synthetic.c")
	if err := os.WriteFile(src, []byte(synthetic()), 0o644); err != nil {
		return nil, err
	}
	if argv[0] == "cairn" {
		argv[0] = b.cairn
	}
	p := &program{path: filepath.Join(dir, "synthetic"), raws: filepath.Join(dir, "raws")}
	_, err := output(ctx, dir, append(argv, "-O1", "-o", p.path, src)...)
	return p, err
}

// runs lets the program run n times with different seeds.
func (p *program) runs(ctx context.Context, n int) error {
	env := []string{"CAIRN_DIR=" + p.raws, "LLVM_PROFILE_FILE=" + filepath.Join(p.raws, "%p.profraw")}
	for seed := range n {
		if _, err := finish(command(ctx, p.raws, env, p.path, strconv.Itoa(seed))); err != nil {
			return err
		}
	}
	return p.count()
}

// count fills in how many raw files there are, and their bytes.
func (p *program) count() error {
	p.files, p.bytes = 0, 0
	return filepath.Walk(p.raws, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			p.files++
			p.bytes += info.Size()
		}
		return err
	})
}

// multiply makes n raw files out of those of real runs. In each some flags are
// changed, so that no two are alike.
func (p *program) multiply(n int) error {
	names, err := filepath.Glob(filepath.Join(p.raws, "*.mipraw"))
	if err != nil || len(names) == 0 {
		return fmt.Errorf("no raw files in %s (%v)", p.raws, err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	raws := make([]mip.Raw, len(names))
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if raws[i], err = mip.ParseRaw(data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	var buf []byte
	for i := len(names); i < n; i++ {
		raw := raws[i%len(raws)]
		raw.Run = random.Uint64()
		raw.Data = append([]byte(nil), raw.Data...)
		for range 50 {
			// The last bytes may be padding.
			raw.Data[random.IntN(min(len(raw.Data), functions/2))] ^= 1
		}
		if buf, err = mip.AppendRaw(buf[:0], raw); err != nil {
			return err
		}
		dir := filepath.Join(p.raws, strconv.Itoa(i/1000))
		if i%1000 == 0 || i == len(names) {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(dir, strconv.Itoa(i)+".mipraw"), buf, 0o644); err != nil {
			return err
		}
	}
	return p.count()
}
