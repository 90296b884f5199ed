package filesummary

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/internal/kind"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

func isDir(path string) bool {
	if verb.IsURL(path) {
		return false
	}
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// runDir describes all files of cairn below a directory. Damaged ones are listed on standard
// error, and make the command fail.
func runDir(s *verb.Streams, dir string, asJSON bool, style report.Style) error {
	infos, damaged, err := inspectDir(dir)
	if err != nil {
		return err
	}
	if len(infos)+len(damaged) == 0 {
		return fmt.Errorf("%s: the directory contains no profile, map, raw file, pack or instrumented binary", dir)
	}
	if err := write(s.Out, infos, asJSON, style); err != nil {
		return err
	}
	for _, err := range damaged {
		fmt.Fprintf(s.Err, "cairn: %v\n", err)
	}
	if n := len(damaged); n > 0 {
		return fmt.Errorf("%s: %s cannot be read", dir, report.Plural(n, "file"))
	}
	return nil
}

// runSeveral describes several files, each by its name.
func runSeveral(s *verb.Streams, paths []string, asJSON bool, style report.Style) error {
	infos := []infoJSON{}
	for _, path := range paths {
		if isDir(path) {
			return verb.Usagef("info: %s is a directory: give it alone", path)
		}
		if p, err := inspectSampleProfile(s, path); err != nil {
			return err
		} else if p != nil {
			return verb.Usagef("info: %s is a sample profile, whose summary is another table: give it alone", path)
		}
		found, err := inspect(path)
		if err != nil {
			return err
		}
		for i := range found {
			found[i].File = path
		}
		infos = append(infos, found...)
	}
	return write(s.Out, infos, asJSON, style)
}

// inspectDir reads all profiles, maps, raw files, packs and instrumented binaries below dir.
func inspectDir(dir string) (infos []infoJSON, damaged []error, err error) {
	infos = []infoJSON{}
	err = filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		head, err := verb.ReadHead(file)
		if err != nil {
			damaged = append(damaged, err)
			return nil
		}
		k := kind.Among(head, func(k kind.Kind) bool { return described(k) || k.IsBinary() })
		known := described(k)
		if !known && k != kind.Binary {
			return nil
		}
		found, err := inspect(file)
		if err != nil && known { // a binary may have no map
			damaged = append(damaged, err)
		}
		for i := range found {
			found[i].File = file
		}
		infos = append(infos, found...)
		return nil
	})
	return infos, damaged, err
}
