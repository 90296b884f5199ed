package bundle

import (
	"bytes"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

var large = Limits{Files: 100, File: 1 << 20, Total: 1 << 22}

// read returns all files of a bundle.
func read(r io.Reader, limits Limits) ([]File, error) {
	var files []File
	b := NewReader(r, limits)
	for {
		f, err := b.Next()
		if err == io.EOF {
			if _, again := b.Next(); again != io.EOF {
				return nil, errors.New("there is something after the end")
			}
			return files, nil
		}
		if err != nil {
			if _, again := b.Next(); again != err {
				return nil, errors.New("another error the second time")
			}
			return files, err
		}
		files = append(files, f)
	}
}

func equal(a, b []File) bool {
	return slices.EqualFunc(a, b, func(f, g File) bool { return f.Name == g.Name && bytes.Equal(f.Data, g.Data) })
}

var examples = [][]File{
	{},
	{{"a", []byte{1, 2, 3}}, {"", nil}},
	{{"same", []byte("x")}, {"same", []byte("y")}},
	{{strings.Repeat("n", MaxName), bytes.Repeat([]byte("large"), step)}},
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, files := range examples {
		data, err := Append(nil, files)
		if err != nil {
			t.Fatal(err)
		}
		if !Detect(data) {
			t.Error("it is not detected")
		}
		for _, r := range []io.Reader{bytes.NewReader(data), iotest.OneByteReader(bytes.NewReader(data))} {
			if got, err := read(r, large); err != nil || !equal(got, files) {
				t.Errorf("%d files of %d, %v", len(got), len(files), err)
			}
		}
	}
}

// TestExample checks that the bytes in the package comment are those of the example.
func TestExample(t *testing.T) {
	t.Parallel()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	data, err := Append(nil, examples[1])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(hex.Dump(data)) {
		if !strings.Contains(string(doc), "//\t"+line) {
			t.Errorf("the package comment lacks %s", line)
		}
	}
}

// TestDamage checks that a bundle that is truncated anywhere, or in which any byte is changed,
// gives an error with a position.
func TestDamage(t *testing.T) {
	t.Parallel()
	good, err := Append(nil, examples[1])
	if err != nil {
		t.Fatal(err)
	}
	for n := range good {
		if _, err := read(bytes.NewReader(good[:n]), large); err == nil {
			t.Errorf("cut after %d bytes, it is read", n)
		}
		for _, flip := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(good)
			bad[n] ^= flip
			if _, err := read(bytes.NewReader(bad), large); err == nil {
				t.Errorf("with another byte %d it is read", n)
			}
		}
	}
	if _, err := read(bytes.NewReader(append(good, 0)), large); err == nil || !strings.Contains(err.Error(), "after the end") {
		t.Errorf("with a byte behind it: %v", err)
	}
	if _, err := read(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(good))), large); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("an error of the input became %v", err)
	}
	newer := bytes.Clone(good)
	newer[8] = 2
	if _, err := read(bytes.NewReader(newer), large); !errors.Is(err, ErrNewer) {
		t.Errorf("another version: %v", err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	data, err := Append(nil, []File{{"a", make([]byte, 10)}, {"b", make([]byte, 10)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []Limits{{2, 10, 19}, {2, 9, 20}, {1, 10, 20}} {
		if _, err := read(bytes.NewReader(data), l); !errors.Is(err, ErrLimit) {
			t.Errorf("%+v: %v", l, err)
		}
	}
	if _, err := read(bytes.NewReader(data), Limits{2, 10, 20}); err != nil {
		t.Error(err)
	}
	// A size is not believed: memory for what this head claims there is not.
	claim := append(slices.Clone(data[:headerSize]), makeHead(kindFile, "", 1<<60, nil)...)
	if _, err := read(bytes.NewReader(claim), Limits{1, 1 << 62, 1 << 62}); err == nil || !strings.Contains(err.Error(), "truncated") {
		t.Errorf("of a file that is not there: %v", err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a/b", "..", ".", "a\x00", strings.Repeat("n", MaxName+1)} {
		if _, err := Append(nil, []File{{Name: name}}); err == nil {
			t.Errorf("%q is written", name)
		}
		if len(name) > MaxName {
			continue
		}
		// What a hostile writer writes: the checksums fit.
		head := make([]byte, headSize)
		head[0], head[1] = kindFile, byte(len(name))
		s := crc32.ChecksumIEEE(append(slices.Clone(head), name...))
		head[4], head[5], head[6], head[7] = byte(s), byte(s>>8), byte(s>>16), byte(s>>24)
		data := append(append([]byte(Magic+"\x01\x00\x00\x00"), head...), name...)
		data = append(data, makeHead(kindEnd, "", 1, nil)...)
		if _, err := read(bytes.NewReader(data), large); err == nil || !strings.Contains(err.Error(), "cannot be the name") {
			t.Errorf("%q is read: %v", name, err)
		}
	}
}

// FuzzReader checks that what is read is written with the same bytes, and is within the limits.
func FuzzReader(f *testing.F) {
	for _, files := range examples[:3] {
		data, err := Append(nil, files)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := Limits{Files: 10, File: 1 << 12, Total: 1 << 14}
		files, err := read(bytes.NewReader(data), limits)
		if len(files) > limits.Files {
			t.Fatalf("%d files", len(files))
		}
		if err != nil {
			return
		}
		again, err := Append(nil, files)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("written again it differs: %v", err)
		}
	})
}
