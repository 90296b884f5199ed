package wrap

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// headers declare the functions of the table that are declared anywhere.
const headers = `#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
`

// TestKnownAgainstHeaders compares the table with what the compiler makes of the C library's
// own headers.
func TestKnownAgainstHeaders(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	var source strings.Builder
	source.WriteString(headers)
	for name := range known() {
		if strings.HasPrefix(name, "_") {
			continue // for compilers only
		}
		// gcc describes what is declared and used.
		fmt.Fprintf(&source, "void *use_%s(void) { return (void *)%s; }\n", name, name)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.c"), []byte(source.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-g", "-O1", "-w", "-fno-builtin", "-c", "k.c", "-o", "k.o")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	signatures, err := objfile.Signatures(filepath.Join(dir, "k.o"), func(name string) bool { return known()[name] != nil })
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for i := range signatures {
		s := &signatures[i]
		if s.Variadic {
			continue // open and its kin
		}
		want, err := FromSignature(s, "the header")
		if err != nil && strings.Contains(err.Error(), "SOCKADDR_ARG") {
			continue // a transparent union of pointers, whose members gcc leaves out
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		got := known()[s.Name]
		if spelled(got) != spelled(want) {
			t.Errorf("%s: the table has %s %v, the header %s %v", s.Name, got.Result, got.Params, want.Result, want.Params)
		}
		checked++
	}
	if checked < 100 {
		t.Errorf("only %d functions checked", checked)
	}
}

// spelled joins the types of a function, each in one spelling.
func spelled(f *Function) string {
	types := append([]string{f.Result}, f.Params...)
	for i, t := range types {
		if t == "unsigned" {
			types[i] = "unsigned int"
		}
	}
	return strings.Join(types, ", ")
}
