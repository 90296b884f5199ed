// Package junit writes results of checks in the XML format of JUnit, which nearly all systems of
// continuous integration show as tests. It is pure.
//
// There is no standard. The elements here are those that Jenkins's schema
// (https://github.com/jenkinsci/xunit-plugin/blob/master/src/main/resources/org/jenkinsci/plugins/xunit/types/model/xsd/junit-10.xsd)
// and GitLab's documentation (https://docs.gitlab.com/ci/testing/unit_test_reports/) have in common:
//
//	<testsuites>
//	  <testsuite name="coverage" tests="2" failures="1" errors="0" skipped="0" time="0">
//	    <testcase name="a.c" classname="coverage" time="0"></testcase>
//	    <testcase name="b.c" classname="coverage" time="0">
//	      <failure message="3 of 4 lines ran" type="coverage">b.c:3: did not run</failure>
//	    </testcase>
//	  </testsuite>
//	</testsuites>
package junit

import (
	"encoding/xml"
	"io"
	"strings"
)

// Suite is a group of checks.
type Suite struct {
	Name  string
	Cases []Case
}

// Case is a check.
type Case struct {
	Name    string
	Failure *Failure // nil if it passed
	Skipped string   // why it was skipped; "" if it was not
}

// Failure is why a check failed.
type Failure struct {
	Message, Text string
}

type failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type skipped struct {
	Message string `xml:"message,attr"`
}

type testcase struct {
	Name    string   `xml:"name,attr"`
	Class   string   `xml:"classname,attr"`
	Time    int      `xml:"time,attr"`
	Failure *failure `xml:"failure"`
	Skipped *skipped `xml:"skipped"`
}

type suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Time     int        `xml:"time,attr"`
	Cases    []testcase `xml:"testcase"`
}

type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Suites  []suite  `xml:"testsuite"`
}

// Write writes suites.
func Write(w io.Writer, list []Suite) error {
	var doc suites
	for _, s := range list {
		out := suite{Name: valid(s.Name), Tests: len(s.Cases)}
		for _, c := range s.Cases {
			tc := testcase{Name: valid(c.Name), Class: valid(s.Name)}
			switch {
			case c.Failure != nil:
				out.Failures++
				tc.Failure = &failure{valid(c.Failure.Message), s.Name, valid(c.Failure.Text)}
			case c.Skipped != "":
				out.Skipped++
				tc.Skipped = &skipped{valid(c.Skipped)}
			}
			out.Cases = append(out.Cases, tc)
		}
		doc.Suites = append(doc.Suites, out)
	}
	data, err := xml.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(data)+"\n")
	return err
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
