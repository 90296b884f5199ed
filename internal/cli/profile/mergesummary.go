package profile

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// refusedSuffix is the suffix, after the profile's name, of the file with all complaints.
const refusedSuffix = ".refused"

// printOmitted lists the files that were not merged: the first few of each kind, and one line for all raw files of other
// builds. If there are more, all are in a file beside the profile.
func printOmitted(s *verb.Streams, sum *gather.Summary) error {
	st, err := os.Stat(sum.Profile)
	if beside := sum.Profile != "-" && (err != nil || st.Mode().IsRegular()); !beside {
		for _, c := range sum.Refused {
			fmt.Fprintf(s.Err, "cairn: %s: %s\n", c.File, c.Reason)
		}
		return nil
	}
	if named := printFirst(s.Err, sum.Refused); named == len(sum.Refused) {
		return nil
	}
	list := sum.Profile + refusedSuffix
	fmt.Fprintf(s.Err, "cairn: all %s that were omitted are listed in %s\n", report.Plural(len(sum.Refused), "file"), list)
	return verb.WriteFile(s, list, func(w io.Writer) error {
		for _, c := range sum.Refused {
			if _, err := fmt.Fprintf(w, "%s: %s\n", c.File, c.Reason); err != nil {
				return err
			}
		}
		return nil
	})
}

// printFirst prints the first few complaints of each kind and how many there are beside, and returns how many it
// printed.
func printFirst(w io.Writer, refused []rawfiles.Complaint) (named int) {
	foreign := gather.Foreign(refused)
	if foreign != "" {
		fmt.Fprintf(w, "cairn: %s\n", foreign)
	}
	lines, more := make(map[string]int), make(map[string]int)
	for _, c := range refused {
		if c.Kind == rawfiles.OtherBuild && foreign != "" {
			continue
		}
		if lines[c.Kind]++; lines[c.Kind] > gather.MaxListed {
			more[c.Kind]++
			continue
		}
		named++
		fmt.Fprintf(w, "cairn: %s: %s\n", c.File, c.Reason)
	}
	for _, kind := range []string{rawfiles.Unreadable, rawfiles.Unknown, rawfiles.Damaged, rawfiles.Conflict, rawfiles.Repeated} {
		if more[kind] > 0 {
			fmt.Fprintf(w, "cairn: and %d more %s\n", more[kind], map[string]string{
				rawfiles.Unreadable: "that cannot be read",
				rawfiles.Unknown:    "in formats that cairn does not know",
				rawfiles.Damaged:    "that are damaged",
				rawfiles.Conflict:   "with other maps",
				rawfiles.Repeated:   "with some runs that the profile already contains",
			}[kind])
		}
	}
	return named
}

// printTotal prints what was written.
func printTotal(s *verb.Streams, sum *gather.Summary) {
	var what []string
	if sum.Raws > 0 {
		what = append(what, report.Plural(sum.Raws, "raw file"))
	}
	if sum.Profiles > 0 {
		what = append(what, report.Plural(sum.Profiles, "profile"))
	}
	refused := ""
	if n := len(sum.Refused); n > 0 {
		refused = fmt.Sprintf(", %s omitted", report.Plural(n, "file"))
	}
	if sum.Repeated > 0 {
		verb.Note(s, "%s omitted: all runs are already in %s (--again merges them again)", report.Plural(sum.Repeated, "file"), sum.Profile)
	}
	if n := len(sum.Changed); n > 0 {
		slices.Sort(sum.Changed)
		verb.Note(s, "%s changed after the process had ended, or damaged, %s: of their counts only that functions ran is used", report.Plural(n, "file"), sum.Changed[0])
	}
	if n := len(sum.Running); n > 0 {
		slices.Sort(sum.Running)
		verb.Note(s, "%s of programs that are still running, %s: later counts will be omitted if these files are merged into %s again", report.Plural(n, "file"), sum.Running[0], sum.Profile)
	}
	if len(what) == 0 {
		what = append(what, "nothing")
	}
	fmt.Fprintf(s.Remarks(), "%s: merged %s%s\n", sum.Profile, strings.Join(what, " and "), refused)
	for i := range sum.Modules {
		m := &sum.Modules[i]
		more := ""
		if m.Absent > 0 {
			more = fmt.Sprintf("; %s not in it", report.Plural(m.Absent, "compiled function"))
		}
		if m.Unprobed > 0 {
			more += fmt.Sprintf("; %s without probes", report.Plural(m.Unprobed, "function"))
		}
		fmt.Fprintf(s.Remarks(), "  %s (%.12s): %s, %d new; %d of %d functions ran%s\n", m.Module, m.BuildID, report.Plural(int(m.Raws), "raw file"), m.Added, m.Ran, m.Functions, more)
	}
}
