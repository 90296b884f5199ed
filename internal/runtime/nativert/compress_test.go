package nativert

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// unpackProgram decodes its input by the runtime's decoder.
const unpackProgram = `
#include <stdlib.h>
#include <unistd.h>
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
#include "unpack.h"

int main(void) {
  static u8 in[1 << 22];
  u64 n = 0;
  long k;
  while ((k = read(0, in + n, sizeof in - n)) > 0) n += (u64)k;
  u32 size = *(u32 *)in;
  u8 *out = malloc(size + 1);
  out[size] = 77;
  unpack(out, in, calloc(PACKED_MODELS, sizeof(u16)));
  for (n = 0; n < size && (k = write(1, out + n, size - n)) > 0;) n += (u64)k;
  int ok = n == size && out[size] == 77;
  free(out);
  return !ok;
}
`

// TestCompress compares what the runtime's decoder makes of compressed data with the data.
func TestCompress(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	header, err := files().Read("c/timed/unpack.h")
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "unpack")
	for name, data := range map[string][]byte{"unpack.h": header, "unpack.c": []byte(unpackProgram)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("gcc", "-Os", "-fsanitize=address,undefined", "-fno-sanitize=alignment", "-o", program, program+".c").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	far := bytes.Join([][]byte{noise[:500], make([]byte, 70000), noise[:500], noise[:2], noise[:500]}, nil)
	for name, data := range map[string][]byte{
		"nothing": {}, "a byte": {0}, "two": {7, 7}, "three": {7, 7, 7}, "zeros": make([]byte, 5000), "noise": noise,
		"far": far, "text": []byte(strings.Repeat(unpackProgram, 3) + unpackProgram[100:]), "program": self[:min(len(self), 50_000)],
	} {
		packed := Compress(data)
		cmd := exec.Command(program)
		cmd.Stdin = bytes.NewReader(packed)
		out, err := cmd.Output()
		if err != nil || !bytes.Equal(out, data) {
			t.Errorf("%s: %d bytes became %d, which decode to %d (%v)", name, len(data), len(packed), len(out), err)
		}
		if limit := len(data) + len(data)/8 + 8; len(packed) > limit {
			t.Errorf("%s: %d bytes became %d, more than %d", name, len(data), len(packed), limit)
		}
	}
}
