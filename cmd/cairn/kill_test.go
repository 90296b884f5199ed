package main

import (
	"errors"
	"os/exec"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
)

// killEach runs a program N times: killeach N program [arguments]. It is killed where it stops for the first, second
// and so on to the Nth time before or after a system call.
func killEach(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: killeach N program [arguments]")
	}
	runs, err := strconv.Atoi(args[0])
	ts.Check(err)
	for n := range runs {
		c := exec.Command(ts.MkAbs(args[1]), args[2:]...)
		c.Dir = ts.MkAbs(".")
		for _, name := range []string{"CAIRN_DIR", "HOME"} {
			c.Env = append(c.Env, name+"="+ts.Getenv(name))
		}
		reached, err := tracelogtest.KillAt(c, n+1)
		if errors.Is(err, errors.ErrUnsupported) {
			return
		}
		ts.Check(err)
		if !reached {
			ts.Fatalf("the program ended before its stop %d", n+1)
		}
	}
}
