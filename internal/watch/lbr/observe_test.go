package lbr

import (
	"bytes"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/sample"
)

// observed samples a call, a tail call, what that calls, a signal and returns: main at
// 0x1000 calls middle at 0x2000, which jumps to leaf at 0x3000. All other code is nop.
func observed(t *testing.T, every uint64, branches bool) *bytes.Buffer {
	t.Helper()
	memory := map[uint64]uint64{0xff00: 0, 0xff08: 0x1005}
	var out bytes.Buffer
	o := Observer{
		Every: every, Branches: branches, Depth: 2, Truth: true, Out: &out,
		Function: func(addr uint64) (uint64, bool) { return addr &^ 0xfff, addr < 0x9000 },
		Word: func(addr uint64) (uint64, bool) {
			w, ok := memory[addr]
			return w, ok
		},
		Code: func(uint64) []byte { return []byte{0x90} },
	}
	if err := o.Maps(7, []byte("maps")); err != nil {
		t.Fatal(err)
	}
	for _, b := range []Taken{
		{Kind: Jump, From: 0x1010, To: 0x1000, SP: 0xff10}, // to its own start
		{Kind: Call, From: 0x1000, To: 0x2000, SP: 0xff10},
		{Kind: Jump, From: 0x2002, To: 0x3000, SP: 0xff08}, // a tail call
		{Kind: Jump, From: 0x3004, To: 0x3001, SP: 0xff00, FP: 0xff00},
		{Kind: FromOutside, From: 1 << 63, To: 0x4000, SP: 0xfe00},
		{Kind: Return, From: 0x4004, To: 0x9000, SP: 0xfe00},
		{Kind: FromOutside, From: 1 << 63, To: 0x3002, SP: 0xff00},
		{Kind: Jump, From: 0x3004, To: 0x3001, SP: 0xff00, FP: 0xff00},
		{Kind: Return, From: 0x3008, To: 0x1005, SP: 0xff08},
		{Kind: IndirectCall, From: 0x1005, To: 0x9000, SP: 0xff10},
	} {
		b.PID, b.TID = 7, 8
		if err := o.Branch(&b); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.End(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func TestObserver(t *testing.T) {
	t.Parallel()
	var truth []string
	var last Sample
	for rec, err := range Records(observed(t, 1, true)) {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Maps != nil:
			if rec.PID != 7 || string(rec.Maps) != "maps" {
				t.Errorf("%d %q", rec.PID, rec.Maps)
			}
		case rec.Sample != nil:
			truth = append(truth, string(rec.Sample.AppendTruth(nil)))
			last = *rec.Sample
			if ip := rec.Sample.IP; (ip == 0x3004 || ip == 0x2002) && !slices.Equal(rec.Sample.Stack, []uint64{ip, 0x1005}) {
				t.Errorf("stack %#x", rec.Sample.Stack)
			}
		case *rec.End != Totals{Branches: 10, Samples: 8, Threads: 1, Instructions: 27}:
			t.Errorf("%+v", rec.End)
		}
	}
	const inner = "C1000>2000 T2002>3000 "
	want := []string{
		"L1010\n", "L1000\n", "C1000>2000 L2002\n", inner + "L3004\n", inner + "O0>4000 L4004\n",
		inner + "L3004\n", inner + "L3008\n", "L1005\n",
	}
	if !slices.Equal(truth, want) {
		t.Errorf("%q", truth)
	}
	if b := []sample.Branch{{From: 0x3004, To: 0x3001}, {From: 0x3008, To: 0x1005}}; !slices.Equal(last.Branches, b) || last.TID != 8 {
		t.Errorf("%+v", last)
	}
}

// TestObserverInstructions samples one instruction in four, between branches.
func TestObserverInstructions(t *testing.T) {
	t.Parallel()
	var got []uint64
	for rec, err := range Records(observed(t, 4, false)) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Sample != nil {
			got = append(got, rec.Sample.IP)
		}
	}
	if want := []uint64{0x2001, 0x3002, 0x4001, 0x3002, 0x3002, 0x3006}; !slices.Equal(got, want) {
		t.Errorf("%#x", got)
	}
}
