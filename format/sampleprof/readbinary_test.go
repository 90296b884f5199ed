package sampleprof

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// profdata runs llvm-profdata and returns what it prints.
func profdata(t *testing.T, args ...string) (out string, err error) {
	t.Helper()
	tool, err := exec.LookPath("llvm-profdata-22")
	if err != nil {
		t.Skip("needs llvm-profdata-22")
	}
	b, err := exec.CommandContext(t.Context(), tool, args...).Output()
	return string(b), err
}

// TestReadBinary: what llvm-profdata wrote in any binary form is what it makes text of.
func TestReadBinary(t *testing.T) {
	t.Parallel()
	var lines bytes.Buffer
	if err := Write(&lines, lineProfile()); err != nil {
		t.Fatal(err)
	}
	for name, source := range map[string]string{
		"flat": flatText, "other": otherText, "lines": lines.String(), "contexts": callersText, "other contexts": otherCallers,
	} {
		for _, options := range []string{
			"--binary", "--extbinary", "--extbinary --compress-all-sections", "--extbinary --use-md5",
			"--extbinary --use-md5 --compress-all-sections", "--extbinary --split-layout", "--extbinary --gen-partial-profile",
		} {
			hasContexts := strings.Contains(name, "contexts")
			if hasContexts && strings.Contains(options, "split") || name != "lines" && options == "--binary" {
				continue // llvm-profdata cannot read the one, nor write the other
			}
			t.Run(name+" "+options, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				from, to := filepath.Join(dir, "text"), filepath.Join(dir, "binary")
				if err := os.WriteFile(from, []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := profdata(t, append(strings.Fields("merge --sample "+options), "-o", to, from)...); err != nil {
					t.Fatal(err)
				}
				want, err := profdata(t, "merge", "--sample", "--text", "-o", "-", to)
				if err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(to)
				if err != nil {
					t.Fatal(err)
				}
				f := read(t, string(data))
				if got := text(t, f); got != want || f.HasContexts != hasContexts || f.MD5 != strings.Contains(options, "md5") {
					t.Errorf("read:\n%s\nllvm-profdata:\n%s", got, want)
				}
				checkRewritten(t, f, want)
			})
		}
	}
}

// checkRewritten has llvm-profdata make text of a profile that was written anew.
func checkRewritten(t *testing.T, f *File, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(path, written(t, f), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := profdata(t, "merge", "--sample", "--text", "-o", "-", path); err != nil || got != want {
		t.Errorf("written anew: %v\n%s\nit was\n%s", err, got, want)
	}
}

func written(t testing.TB, f *File) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f.WriteExtBinary(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadFlags checks that flags that the text form lacks are read and written.
func TestReadFlags(t *testing.T) {
	t.Parallel()
	f := read(t, "17:1:1\n 1: 1 19:1\n")
	f.MD5, f.FS, f.PreInlined = true, true, true
	if g := read(t, string(written(t, f))); !g.MD5 || !g.FS || !g.PreInlined || text(t, g) != text(t, f) {
		t.Errorf("%+v", g)
	}
	var b bytes.Buffer
	if err := (&File{MD5: true, Contexts: read(t, flatText).Contexts}).WriteExtBinary(&b); err == nil {
		t.Error("names were written as MD5")
	}
}

// extbinary makes a file of sections; version 103 is what is known.
func extbinary(version uint64, sections ...extSection) []byte {
	var b bytes.Buffer
	if err := (&extWriter{}).write(&b, sections); err != nil {
		panic(err)
	}
	data := b.Bytes()
	binary.PutUvarint(data[len(binary.AppendUvarint(nil, magicExtBinary)):], version)
	return data
}

// packed is a section that is compressed, of a size that may be wrong.
func packed(size uint64, data string) []byte {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	w.Write([]byte(data))
	w.Close()
	b := binary.AppendUvarint(nil, size)
	return append(binary.AppendUvarint(b, uint64(z.Len())), z.Bytes()...)
}

func TestReadBinaryErrors(t *testing.T) {
	t.Parallel()
	names := extSection{sectionNames, 0, []byte("\x02f\x00g\x00")}
	ok := extbinary(103, names, extSection{sectionProfile, 0, []byte("\x01\x00\x05\x00\x00")})
	profile := func(body string) []byte { return extbinary(103, names, extSection{sectionProfile, 0, []byte(body)}) }
	contexts := func(table, body string) []byte {
		return extbinary(103, extSection{sectionSummary, flagFullContexts, []byte{0}}, names,
			extSection{sectionContexts, 0, []byte(table)}, extSection{sectionProfile, 0, []byte(body)})
	}
	if f := read(t, string(ok)); text(t, f) != "f:5:1\n" {
		t.Fatal(text(t, f))
	}
	longTable := slices.Clone(ok)
	binary.LittleEndian.PutUint64(longTable[10:], 1<<60)
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"version":             {extbinary(104, names), "version 104 of LLVM's binary format"},
		"no table":            {ok[:14], "at offset 0xa: truncated"},
		"long table":          {longTable, "at offset 0xa: 1152921504606846976 sections"},
		"section outside":     {ok[:len(ok)-1], "at offset 0x32: a section of 5 bytes at 0x57 does not fit into the file"},
		"sections overlap":    {overlapping(ok), "at offset 0x32: a section"},
		"names cut":           {extbinary(103, extSection{sectionNames, 0, []byte("\x02f\x00g")}), "section 2: at offset 0x35: a name has no end"},
		"names twice":         {extbinary(103, names, names), "section 2: at offset 0x57: a second table of names"},
		"a name of two lines": {extbinary(103, extSection{sectionNames, 0, []byte("\x02f\x00a\ng\x00")}), `section 2: at offset 0x35: the name "a\ng" has control characters`},
		"too many names":      {extbinary(103, extSection{sectionNames, 0, []byte("\x09f\x00")}), "section 2: at offset 0x32: 9 names do not fit"},
		"too many MD5":        {extbinary(103, extSection{sectionNames, flagFixedMD5, []byte("\x02eightbyt")}), "section 2: at offset 0x32: 2 names do not fit"},
		"unknown name":        {profile("\x01\x02\x05\x00\x00"), "section 32: at offset 0x58: name 2 of 2"},
		"unknown callee":      {profile("\x01\x00\x05\x01\x01\x00\x01\x01\x07\x01\x00"), "section 32: at offset 0x5f: name 7 of 2"},
		"a place":             {profile("\x01\x00\x05\x01\x80\x80\x04\x00\x01\x00\x00"), "section 32: at offset 0x5b: invalid location: offset 65536"},
		"cut":                 {profile("\x01\x00\x05"), "section 32: at offset 0x5a: truncated"},
		"deep":                {profile("\x01\x00" + strings.Repeat("\x05\x00\x01\x01\x00\x00", maxDepth) + "\x05\x00\x00"), "section 32: at offset"},
		"no compression":      {extbinary(103, extSection{sectionNames, flagCompressed, []byte("\x09\x03abc")}), "section 2: at offset 0x32: the compressed data is damaged"},
		"compressed cut":      {extbinary(103, extSection{sectionNames, flagCompressed, []byte("\x09\x09abc")}), "section 2: at offset 0x34: truncated"},
		"compressed short":    {extbinary(103, extSection{sectionNames, flagCompressed, packed(9, "\x02f\x00g\x00")}), "section 2: at offset 0x32: the compressed data is damaged: unexpected EOF"},
		"compressed bomb":     {extbinary(103, extSection{sectionNames, flagCompressed, packed(1<<40, "\x02f\x00g\x00")}), "section 2: at offset 0x32: 1099511627776 bytes, compressed"},
		"classes":             {extbinary(103, extSection{sectionSummary, flagVtables, []byte{0}}), "section 1: at offset 0x32: vtable profiles"},
		"empty context":       {contexts("\x01\x00", ""), "section 6: at offset 0x99: a context of no function"},
		"unknown context":     {contexts("\x01\x01\x00\x00\x00", "\x01\x01\x05\x00\x00"), "section 32: at offset 0x9e: context 1 of 1"},
		"a context's name":    {contexts("\x01\x01\x02\x00\x00", ""), "section 6: at offset 0x9a: name 2 of 2"},
		"a context's depth":   {contexts("\x01\x81\x20"+strings.Repeat("\x00\x00\x00", maxDepth+1), ""), "section 6: at offset 0x99: 4097 functions of a context"},
		"attributes":          {extbinary(103, names, extSection{sectionMetadata, flagAttributes, []byte("\x00\x80\x02\x00")}), "section 5: at offset 0x58: attributes 0x100"},
		"plain cut":           {binary.AppendUvarint(binary.AppendUvarint(nil, magicBinary), versionBinary), "at offset 0xa: truncated"},
	} {
		if _, err := Read(bytes.NewReader(c.data)); err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// overlapping gives the second section of a file all of its bytes.
func overlapping(data []byte) []byte {
	data = slices.Clone(data)
	const second = 10 + 8 + 32
	binary.LittleEndian.PutUint64(data[second+16:], 0)
	binary.LittleEndian.PutUint64(data[second+24:], uint64(len(data)))
	return data
}

// FuzzReadBinary checks that a profile that is read and written is read as the same profile.
func FuzzReadBinary(f *testing.F) {
	for _, s := range []string{flatText, otherText, callersText, otherCallers} {
		f.Add(written(f, read(f, s)))
	}
	f.Add(written(f, &File{MD5: true, Contexts: read(f, "17:1:1\n 1: 1 19:1\n").Contexts}))
	f.Add(extbinary(103, extSection{sectionNames, flagCompressed, packed(5, "\x02f\x00g\x00")}, extSection{sectionProfile, 0, []byte("\x01\x00\x05\x00\x00")}))
	plain := binary.AppendUvarint(binary.AppendUvarint(nil, magicBinary), versionBinary)
	f.Add(append(plain, "\x05\x05\x01\x01\x01\x01\x01\x01\x01\x02f\x00g\x00\x01\x00\x05\x01\x01\x00\x05\x00\x00"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(bytes.NewReader(data))
		if err != nil || len(p.Contexts) == 0 {
			return
		}
		// Functions without a checksum have 0 if others have one.
		none := regexp.MustCompile(`(?m)^ *!CFGChecksum: 0\n`)
		plain := func(p *File) string { return none.ReplaceAllString(text(t, p), "") }
		first := plain(p)
		if second := plain(read(t, string(written(t, p)))); second != first {
			t.Errorf("written:\n%s\nand again:\n%s", first, second)
		}
	})
}
