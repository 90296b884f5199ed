module github.com/cairnprof/cairn/proof

go 1.26.0

require (
	github.com/cairnprof/cairn v0.0.0-00010101000000-000000000000
	github.com/hanwen/go-fuse/v2 v2.12.1
	github.com/rogpeppe/go-internal v1.16.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724 // indirect
	github.com/klauspost/compress v1.20.4 // indirect
	github.com/ulikunitz/xz v0.5.17 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
	golang.org/x/tools v0.51.0 // indirect
)

replace github.com/cairnprof/cairn => ../
