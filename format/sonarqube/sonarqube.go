// Package sonarqube writes coverage in SonarQube's generic format for test coverage, the reports of
// sonar.coverageReportPaths. It is pure.
//
// The format is described by
// https://docs.sonarsource.com/sonarqube-server/analyzing-source-code/test-coverage/generic-test-data/;
// testdata has its schema:
//
//	<coverage version="1">
//	  <file path="src/a.c">
//	    <lineToCover lineNumber="3" covered="true" branchesToCover="2" coveredBranches="1"/>
//	    <lineToCover lineNumber="4" covered="false"/>
//	  </file>
//	</coverage>
//
// SonarQube looks for paths below the base directory of the project, and ignores files that are
// not part of it. A line has at most one element. The numbers of branches are absent if the line
// has none, or they are not known.
package sonarqube

import (
	"bufio"
	"encoding/xml"
	"io"
	"strconv"
)

// File is a source file.
type File struct {
	Path  string
	Lines []Line // ascending by number
}

// Line is a line with code.
type Line struct {
	Number   int // from 1
	Covered  bool
	Branches int // that leave the line, 0 if there are none or they are not known
	Taken    int // of Branches
}

// Write writes a report.
func Write(w io.Writer, files []File) error {
	b := bufio.NewWriter(w)
	b.WriteString(xml.Header + "<coverage version=\"1\">\n")
	for i := range files {
		b.WriteString(`  <file path="`)
		xml.EscapeText(b, []byte(files[i].Path)) // bufio keeps the error
		b.WriteString("\">\n")
		for _, l := range files[i].Lines {
			b.WriteString(`    <lineToCover lineNumber="` + strconv.Itoa(l.Number) + `" covered="` + strconv.FormatBool(l.Covered) + `"`)
			if l.Branches > 0 {
				b.WriteString(` branchesToCover="` + strconv.Itoa(l.Branches) + `" coveredBranches="` + strconv.Itoa(l.Taken) + `"`)
			}
			b.WriteString("/>\n")
		}
		b.WriteString("  </file>\n")
	}
	b.WriteString("</coverage>\n")
	return b.Flush()
}
