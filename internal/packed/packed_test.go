package packed

import (
	"bytes"
	"testing"
)

func TestPack(t *testing.T) {
	t.Parallel()
	files := Files{{"c/a.c", []byte("int a;\n")}, {"c/sub/b.S", nil}, {"c/sub/c.h", bytes.Repeat([]byte("x"), 3000)}}
	archive, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	got := Unpack(string(archive))
	if len(got) != len(files) {
		t.Fatalf("%d files", len(got))
	}
	for i := range files {
		if got[i].Name != files[i].Name || !bytes.Equal(got[i].Data, files[i].Data) {
			t.Errorf("file %d is %s of %d bytes", i, got[i].Name, len(got[i].Data))
		}
	}
	if in := got.In("c/sub"); len(in) != 2 || in[0].Name != "b.S" || in[1].Name != "c.h" {
		t.Errorf("in c/sub are %d files", len(in))
	}
	if data, err := got.Read("c/a.c"); err != nil || string(data) != "int a;\n" {
		t.Errorf("c/a.c is %q, %v", data, err)
	}
	if _, err := got.Read("c/b.c"); err == nil {
		t.Error("a file that is not there is read")
	}
}
