package junit

import (
	"bytes"
	"encoding/xml"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	name, text := "b <&>\x00\xff.c", "b.c:3: did not run\nb.c:4: \"quoted\"\n"
	in := []Suite{{"coverage", []Case{
		{Name: "a.c"},
		{Name: name, Failure: &Failure{"1 of 2 lines\tran", text}},
		{Name: "c.h", Skipped: "no code"},
	}}, {Name: "none"}}
	var b bytes.Buffer
	if err := Write(&b, in); err != nil {
		t.Fatal(err)
	}
	const want = xml.Header + `<testsuites>
  <testsuite name="coverage" tests="3" failures="1" errors="0" skipped="1" time="0">
    <testcase name="a.c" classname="coverage" time="0"></testcase>
    <testcase name="b &lt;&amp;&gt;��.c" classname="coverage" time="0">
      <failure message="1 of 2 lines&#x9;ran" type="coverage">b.c:3: did not run&#xA;b.c:4: &#34;quoted&#34;&#xA;</failure>
    </testcase>
    <testcase name="c.h" classname="coverage" time="0">
      <skipped message="no code"></skipped>
    </testcase>
  </testsuite>
  <testsuite name="none" tests="0" failures="0" errors="0" skipped="0" time="0"></testsuite>
</testsuites>
`
	if b.String() != want {
		t.Errorf("%s", b.String())
	}
	var got struct {
		Cases []struct {
			Name    string `xml:"name,attr"`
			Failure string `xml:"failure"`
		} `xml:"testsuite>testcase"`
	}
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if c := got.Cases[1]; c.Name != "b <&>\uFFFD\uFFFD.c" || c.Failure != text {
		t.Errorf("read back %+v", c)
	}
}
