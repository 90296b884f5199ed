//go:build linux && amd64

package oracle

import "slices"

// workCalls is how often testdata/contract.c calls work before anything happens.
const workCalls = 1000

// work returns how often work is called in all processes.
func (s *situation) work() int { return workCalls + s.calls }

// left returns how many files there are.
func (s *situation) left() int { return max(s.files, 1) }

// runs tells whether a function runs.
func (s *situation) runs(name string) bool {
	return name == "main" || name == "work" || slices.Contains(s.also, name)
}

// contractSituations are the rows.
func contractSituations() []situation {
	return []situation{
		{name: "return"},
		{name: "exit", also: []string{"last"}, calls: 1},
		{name: "_exit"},
		{name: "quick_exit"},
		{name: "abort"},
		{name: "segv"},
		{name: "kill"},
		{name: "exec", also: []string{"second"}, calls: 5, files: 2},
		{name: "main thread ends", arg: "leader", also: []string{"thread"}, calls: 7},
		{name: "fork", also: []string{"child"}, calls: 20, files: 3},
		{name: "vfork", also: []string{"second"}, calls: 5, files: 2},
		{name: "daemon", also: []string{"child"}, calls: 10, files: 3},
		{name: "setproctitle", arg: "title", also: []string{"child"}, calls: 10, files: 2},
		{name: "clearenv", also: []string{"child"}, calls: 10, files: 2},
		{name: "ulimit -f 0", arg: "return", start: `ulimit -f 0; exec "$@"`},
		{name: "setrlimit fsize", arg: "fsize"},
		{name: "seccomp", sealed: true},
		{name: "seccomp strict", arg: "strict"},
		{name: "seccomp errno", also: []string{"child"}, calls: 10, files: 2},
		{name: "seccomp fork", also: []string{"child"}, calls: 10, files: 2},
		{name: "ulimit -n", arg: "return", flags: "-static", start: `ulimit -n 3; exec "$@"`},
		{name: "setrlimit nofile", arg: "nofile"},
		{name: "close all", arg: "closed"},
		// A log that is created meanwhile has a low number until it gets its own.
		{name: "descriptors", arg: "lowest", retries: 2},
		{name: "chroot", root: true},
		{name: "chroot fork", root: true, also: []string{"child"}, calls: 10},
		{name: "proc not mounted", arg: "return", root: true, start: `unshare -m sh -c 'mount -t tmpfs tmpfs /proc && exec "$@"' sh "$@"; r=$?
case "$(ls -A "$DIR" 2>&-)" in .*) echo "a name begins with a dot" >&2; exit 1;; esac; exit $r`},
		{name: "setrlimit nofile fork", arg: "nofile fork", also: []string{"child"}, calls: 10},
		{name: "raw fork", also: []string{"child"}, calls: 10},
		{name: "fork exec", files: 3},
		{name: "relative directory", arg: "chdir", env: []string{"CAIRN_DIR=../raws"}},
		{name: "read-only directory", arg: "return", env: []string{"CAIRN_DIR=/proc/nowhere"}},
		{name: "full disk", arg: "return", root: true, start: `mkdir "$DIR"
mount -t tmpfs -o size=64k tmpfs "$DIR" || { echo "skip: no mount"; exit; }
head -c 100000 /dev/zero >"$DIR/fill.txt" 2>&-
"$@"; r=$?; rm "$DIR/fill.txt"; ls "$DIR"; umount "$DIR"; exit $r`},
		{name: "disk becomes full", arg: "disk", root: true, also: []string{"child", "last"}, calls: 11, start: `mkdir "$DIR"
mount -t tmpfs -o size=256k tmpfs "$DIR" || { echo "skip: no mount"; exit; }
"$@"; r=$?; rm "$DIR/fill.txt"; mkdir "$DIR.kept"; cp "$DIR"/* "$DIR.kept" 2>&-; umount "$DIR"; cp "$DIR.kept"/* "$DIR" 2>&-; exit $r`},
		{name: "files that cannot be mapped", arg: "nomap", also: []string{"child"}, calls: workCalls + 10, files: 3},
		{name: "truncate", also: []string{"last"}, calls: 10},
		{name: "bus error", arg: "bus"},
		{name: "own bus handler", arg: "handler"},
		{name: "small stacks", arg: "stacks", also: []string{"thread"}, calls: 70},
		{name: "dlopen", files: 2},
		{name: "dlclose", files: 3},
		{name: "static", arg: "fork", flags: "-static", also: []string{"child"}, calls: 20, files: 3},
		{name: "static-pie", arg: "_exit", flags: "-static-pie"},
		{name: "bare", source: "contractbare.c", flags: "-nostdlib -static -ffreestanding", also: []string{"sys", "begin"}},
	}
}
