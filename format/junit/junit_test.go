package junit

import (
	"bytes"
	"encoding/xml"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	in := []Suite{{"coverage", []Case{
		{Name: "a.c"},
		{Name: "b <&>\x00\xff.c", Failure: &Failure{"1 of 2 lines ran", "b.c:3: did not run\nb.c:4: \"quoted\""}},
		{Name: "c.h", Skipped: "no code"},
	}}}
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	var got suites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, b.String())
	}
	s := got.Suites[0]
	if s.Tests != 3 || s.Failures != 1 || s.Skipped != 1 || s.Cases[1].Failure.Text != in[0].Cases[1].Failure.Text || s.Cases[0].Failure != nil || s.Cases[2].Skipped.Message != "no code" {
		t.Errorf("%+v", s)
	}
	if want := "b <&>\uFFFD\uFFFD.c"; s.Cases[1].Name != want {
		t.Errorf("name %q, want %q", s.Cases[1].Name, want)
	}
}
