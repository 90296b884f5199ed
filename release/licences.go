package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// thirdParty is the file with the licences of the modules in the program.
const thirdParty = "THIRD_PARTY"

// licenceName is what the files of a module with its licence are named.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// licences adds the texts of the licences of Go, of the modules that are in the program for any target, and of the
// scripts in its pages.
func (b *build) licences(ctx context.Context) error {
	dirs := make(map[string]string) // of modules, by path and version
	for _, t := range b.targets {
		const format = "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"
		env := []string{"GOOS=" + t.os, "GOARCH=" + t.arch, "CGO_ENABLED=0"}
		out, err := command(ctx, b.source, env, "go", "list", "-deps", "-f", format, "./cmd/cairn")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(out)) {
			if module, dir, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
				dirs[module] = dir
			}
		}
	}
	out, err := command(ctx, b.source, nil, "go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "The program cairn contains the following modules, under these licences.\n")
	if err := appendLicence(&text, "The Go standard library and runtime", strings.TrimSpace(string(out))); err != nil {
		return err
	}
	for _, module := range slices.Sorted(maps.Keys(dirs)) {
		if err := appendLicence(&text, module, dirs[module]); err != nil {
			return err
		}
	}
	pages := filepath.Join(b.source, "internal", "page", "web", "third_party")
	if err := appendLicence(&text, "CodeMirror, in the pages of the report", pages); err != nil {
		return err
	}
	b.add(thirdParty, "/usr/share/doc/cairn/"+thirdParty, 0o644, text.Bytes())
	return nil
}

// appendLicence appends the licence files in a directory.
func appendLicence(to *bytes.Buffer, what, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		if e.IsDir() || !licenceName.MatchString(e.Name()) {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(to, "\n%s\n%s: %s\n\n%s\n", strings.Repeat("=", 100), what, e.Name(), bytes.TrimSpace(data))
	}
	if !found {
		return errors.New(what + ": no file with its licence in " + dir)
	}
	return nil
}
