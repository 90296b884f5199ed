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
	"bufio"
	"encoding/xml"
	"io"
	"strconv"
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

// Write writes suites.
func Write(w io.Writer, list []Suite) error {
	b := bufio.NewWriter(w)
	b.WriteString(xml.Header + "<testsuites>\n") // bufio keeps errors
	for i := range list {
		writeSuite(b, &list[i])
	}
	b.WriteString("</testsuites>\n")
	return b.Flush()
}

func writeSuite(b *bufio.Writer, s *Suite) {
	failures, skipped := 0, 0
	for _, c := range s.Cases {
		switch {
		case c.Failure != nil:
			failures++
		case c.Skipped != "":
			skipped++
		}
	}
	begin(b, "  ", "testsuite", "name", s.Name, "tests", strconv.Itoa(len(s.Cases)), "failures", strconv.Itoa(failures), "errors", "0", "skipped", strconv.Itoa(skipped), "time", "0")
	for _, c := range s.Cases {
		b.WriteString("\n")
		begin(b, "    ", "testcase", "name", c.Name, "classname", s.Name, "time", "0")
		switch {
		case c.Failure != nil:
			b.WriteString("\n")
			begin(b, "      ", "failure", "message", c.Failure.Message, "type", s.Name)
			xml.EscapeText(b, []byte(c.Failure.Text))
			b.WriteString("</failure>\n    ")
		case c.Skipped != "":
			b.WriteString("\n")
			begin(b, "      ", "skipped", "message", c.Skipped)
			b.WriteString("</skipped>\n    ")
		}
		b.WriteString("</testcase>")
	}
	if len(s.Cases) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("</testsuite>\n")
}

// begin writes the beginning of an element with pairs of a name and a value.
func begin(b *bufio.Writer, indent, name string, attributes ...string) {
	b.WriteString(indent + "<" + name)
	for i := 0; i < len(attributes); i += 2 {
		b.WriteString(" " + attributes[i] + `="`)
		xml.EscapeText(b, []byte(attributes[i+1]))
		b.WriteString(`"`)
	}
	b.WriteString(">")
}
