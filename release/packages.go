package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

const (
	homePage    = "https://github.com/cairnprof/cairn"
	short       = "Exact, function-level profiling that is cheap enough to ship"
	description = `cairn records which functions and blocks of a native program ran, how often, in
which order, and called from where. It inserts probes into the assembly that the
compiler emits, lays out programs so that they touch fewer pages when they start,
finds single calls that took too long, and restores complete stacks in samples.`
)

// packages writes the .deb and the .rpm for a system.
func (b *build) packages(t target, program string) error {
	contents := files.Contents{{Source: program, Destination: "/usr/bin/cairn", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: b.date}}}
	for _, f := range b.shared {
		if f.in == "" {
			continue
		}
		path := filepath.Join(b.work, "shared", f.path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.data, f.mode); err != nil {
			return err
		}
		contents = append(contents, &files.Content{Source: path, Destination: f.in, FileInfo: &files.ContentFileInfo{Mode: f.mode, MTime: b.date}})
	}
	for _, kind := range []string{"deb", "rpm"} {
		text := description
		if kind == "deb" { // its first line is the summary
			text = short + "\n" + description
		}
		packager, err := nfpm.Get(kind)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "cairn", Arch: t.arch, Platform: t.os, Version: b.version, VersionSchema: "semver", Section: "devel", Priority: "optional",
			Maintainer: "The cairn developers <maintainers@cairn.invalid>", Description: text, Homepage: homePage, License: "Apache-2.0", MTime: b.date,
			Overridables: nfpm.Overridables{
				Contents: contents, Recommends: []string{"binutils"},
				Deb: nfpm.Deb{Compression: "xz"}, RPM: nfpm.RPM{Compression: "xz", BuildHost: "localhost", Summary: short},
			},
		})
		if err := nfpm.PrepareForPackager(info, kind); err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return err
		}
		if err := b.write(packager.ConventionalFileName(info), out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// materials writes the bill of materials of a program: the modules that are linked into it, as its build
// information has them.
func (b *build) materials(t target, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: b.date.Format("2006-01-02T15:04:05Z"),
		Component: &cyclonedx.Component{
			BOMRef: info.Main.Path, Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: b.version,
			PackageURL: "pkg:golang/" + info.Main.Path + "@" + b.version,
		},
	}
	library := func(path, version, sum string) cyclonedx.Component {
		c := cyclonedx.Component{BOMRef: path, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version, PackageURL: "pkg:golang/" + path + "@" + version}
		if sum != "" {
			c.Properties = &[]cyclonedx.Property{{Name: "go:sum", Value: sum}}
		}
		return c
	}
	components := []cyclonedx.Component{library("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	refs := []string{"std"}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components, refs = append(components, library(m.Path, m.Version, m.Sum)), append(refs, m.Path)
	}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: info.Main.Path, Dependencies: &refs}}
	var out bytes.Buffer
	enc := cyclonedx.NewBOMEncoder(&out, cyclonedx.BOMFileFormatJSON)
	enc.SetPretty(true)
	if err := enc.Encode(bom); err != nil {
		return err
	}
	return b.write(b.archiveName(t)+".cdx.json", out.Bytes())
}

// container writes the container file. Its context is the directory of the release.
func (b *build) container() error {
	text := `# docker build -f Containerfile --build-arg TARGETARCH=amd64 -t cairn .
FROM scratch
ARG TARGETARCH=amd64
LABEL org.opencontainers.image.title="cairn" org.opencontainers.image.version="` + b.number() + `" org.opencontainers.image.source="` + homePage + `"
ADD cairn-` + b.number() + `-linux-${TARGETARCH}.tar.gz /opt/
ENV PATH=/opt/cairn-` + b.number() + `-linux-${TARGETARCH}:/usr/local/bin:/usr/bin:/bin
ENTRYPOINT ["cairn"]
`
	return b.write("Containerfile", []byte(text))
}

// formula is the formula for Homebrew.
var formula = template.Must(template.New("formula").Parse(`# Homebrew's formula of cairn, which reads profiles on macOS: brew install --formula ./cairn.rb
class Cairn < Formula
  desc "{{.Short}}"
  homepage "{{.Home}}"
  version "{{.Version}}"
{{range .Systems}}
  on_{{.OS}} do
{{- range .Files}}
    on_{{.CPU}} do
      url "{{$.Home}}/releases/download/v{{$.Version}}/{{.Name}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "cairn"
    man1.install Dir["man/man1/*.gz"]
    bash_completion.install "completions/cairn.bash" => "cairn"
    zsh_completion.install "completions/_cairn"
    fish_completion.install "completions/cairn.fish"
    pkgshare.install "kit", "cairn.h"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/cairn version")
  end
end
`))

// formula writes the formula.
func (b *build) formula() error {
	type archive struct{ CPU, Name, Sum string }
	type system struct {
		OS    string
		Files []archive
	}
	var systems []system
	for _, t := range b.targets {
		if t.os == "windows" {
			continue
		}
		name := b.archiveName(t) + t.suffix()
		sum, err := b.sum(name)
		if err != nil {
			return err
		}
		os := map[string]string{"darwin": "macos", "linux": "linux"}[t.os]
		if n := len(systems); n == 0 || systems[n-1].OS != os {
			systems = append(systems, system{OS: os})
		}
		s := &systems[len(systems)-1]
		s.Files = append(s.Files, archive{map[string]string{"amd64": "intel", "arm64": "arm"}[t.arch], name, sum})
	}
	var out bytes.Buffer
	err := formula.Execute(&out, map[string]any{"Short": short, "Home": homePage, "Version": b.number(), "Systems": systems})
	if err != nil {
		return err
	}
	return b.write("cairn.rb", out.Bytes())
}

// scoop writes the manifest for Scoop, which installs programs on Windows: scoop install ./cairn.json.
func (b *build) scoop() error {
	type archive struct {
		URL  string `json:"url"`
		Hash string `json:"hash"`
		Dir  string `json:"extract_dir"`
	}
	archives := map[string]archive{}
	for _, t := range b.targets {
		if t.os != "windows" {
			continue
		}
		name := b.archiveName(t) + t.suffix()
		sum, err := b.sum(name)
		if err != nil {
			return err
		}
		cpu := map[string]string{"amd64": "64bit", "arm64": "arm64"}[t.arch]
		archives[cpu] = archive{homePage + "/releases/download/v" + b.number() + "/" + name, sum, b.archiveName(t)}
	}
	if len(archives) == 0 {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		Version      string             `json:"version"`
		Description  string             `json:"description"`
		Homepage     string             `json:"homepage"`
		License      string             `json:"license"`
		Architecture map[string]archive `json:"architecture"`
		Bin          string             `json:"bin"`
	}{b.number(), short, homePage, "Apache-2.0", archives, "cairn.exe"}, "", "    ")
	if err != nil {
		return err
	}
	return b.write("cairn.json", append(text, '\n'))
}
