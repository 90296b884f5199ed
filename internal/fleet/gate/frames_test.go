package gate

import (
	"bufio"
	"bytes"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/internal/fleet/fleettest"
)

// TestBlocks sends Zstandard streams of frames and blocks without content. 24 MB of them are long work for a decoder.
func TestBlocks(t *testing.T) {
	t.Parallel()
	url, _ := serve(t, nil)
	const frame = "\x28\xb5\x2f\xfd\x00\x68" // with a window of 8 MB
	for name, body := range map[string]string{
		"empty frames":     strings.Repeat("\x28\xb5\x2f\xfd\x20\x00\x01\x00\x00", 70_000),
		"skippable frames": strings.Repeat("\x50\x2a\x4d\x18\x00\x00\x00\x00", 70_000),
		"empty blocks":     frame + strings.Repeat("\x00\x00\x00", 70_000),
		"blocks of a byte": frame + strings.Repeat("\x0a\x00\x00a", 70_000),
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := ask(t, "POST", url+"/v1/files", []byte(body), "Content-Encoding", "zstd")
			if status != http.StatusRequestEntityTooLarge || !strings.Contains(answer, "65536 frames and blocks") {
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	// A sender that flushes after each file, and frames one after the other, are as good as any.
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	body := bundled(t, p.MapFile(t), p.Run(t, 1))
	for name, size := range map[string]int{"flushed": 1, "frames": 1000} {
		var b bytes.Buffer
		z, err := zstd.NewWriter(&b, zstd.WithEncoderCRC(size > 1))
		if err != nil {
			t.Fatal(err)
		}
		for rest := body; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			_, err := z.Write(rest[:min(size, len(rest))])
			if err == nil && size > 1 {
				err = z.Close()
				z.Reset(&b)
			} else if err == nil {
				err = z.Flush()
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		if status, answer := ask(t, "POST", url+"/v1/files", b.Bytes(), "Content-Encoding", "zstd"); status != http.StatusOK {
			t.Errorf("%s: %d %s", name, status, answer)
		}
	}
}

// TestBlockWalk counts the frames and blocks of streams that an encoder made, and reads damaged ones.
func TestBlockWalk(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 50 {
		var b bytes.Buffer
		frames, flushes := 1+rng.IntN(4), rng.IntN(5)
		for range frames {
			z, err := zstd.NewWriter(&b, zstd.WithEncoderCRC(n%2 == 0), zstd.WithEncoderConcurrency(1))
			if err != nil {
				t.Fatal(err)
			}
			for range flushes {
				data := make([]byte, 1+rng.IntN(1000))
				for i := range data {
					data[i] = byte(rng.IntN(1 << rng.IntN(9)))
				}
				if _, err := z.Write(data); err != nil {
					t.Fatal(err)
				}
				if err := z.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
		}
		w := blockWalk{in: bufio.NewReader(&b)}
		stream := bytes.Clone(b.Bytes())
		for w.frame() {
		}
		if least := frames * flushes; w.blocks < least || w.blocks > least+2*frames || w.in.Buffered() > 0 {
			t.Errorf("%d frames and blocks of %d frames with %d flushes each, %d bytes are left", w.blocks, frames, flushes, w.in.Buffered())
		}
		for range 100 {
			damaged := bytes.Clone(stream)
			if len(damaged) > 0 {
				damaged[rng.IntN(len(damaged))] ^= byte(1 + rng.IntN(255))
			}
			if err := checkBlocks(bytes.NewReader(damaged)); err != nil {
				t.Error(err)
			}
		}
	}
}
