package fdata

import (
	"bytes"
	"math"
	"testing"
)

// TestDetect knows what this package writes, and the other inputs of BOLT.
func TestDetect(t *testing.T) {
	t.Parallel()
	var branches, samples bytes.Buffer
	if err := WriteBranches(&branches, []Branch{{Unknown, Place{"operator new", 0}, 3}}); err != nil {
		t.Fatal(err)
	}
	if err := WriteSamples(&samples, "cairn", []Sample{{Place{"main", 0x10}, 3}}); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]Kind{
		branches.String(): Profile,
		samples.String():  Profile,
		"boltedcollection\n1 main 451 1 hash/1 0 0 7\n4 main 10 4 data 20 5\n":                        Other, // six words
		"boltedcollection\n1 main 451 1 hash/1 0 0 7\n1 ma":                                           Profile,
		"---\nheader:\n  profile-version: 1\n":                                                        Profile,
		"---\nheader:          \n  profile-version: 1\n":                                              Profile, // as LLVM writes it
		"---\nheaders:\n  profile-version: 1\n":                                                       Other,
		"B 4b196f 4b19e0 2 0\nF 41be50 41be50 3\nf 4b19e0 4b19ef 2\nT 1 2 3 4\n":                      Aggregated,
		"E cycles,instructions\nS aabb1122:4005f0 1\nB X:0 aabb1122:4b19e0 2 0\nR 1 2 3 4\nr 1 2 3\n": Aggregated,
		"main;work 12\n":                       Other,
		"main 12\nwork 3\n":                    Other,
		"S 4005f0 1\nmain 3\n":                 Other,
		"1 main 10 3 4\n":                      Other,
		"":                                     Other,
		"S 4005f0 1":                           Other,
		"app 12 1.5: 5 cycles:\n\t 401136\n\n": Other,
	} {
		if got := Detect([]byte(text)); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

func TestWrite(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := WriteBranches(&b, []Branch{
		{Place{"main", 0x2a}, Place{"hot/1", 0}, 7},
		{Unknown, Place{"operator new", 0}, math.MaxUint64},
	}); err != nil {
		t.Fatal(err)
	}
	want := "1 main 2a 1 hot/1 0 0 7\n0 [unknown] 0 1 operator\\ new 0 0 9223372036854775\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	b.Reset()
	if err := WriteSamples(&b, "cairn", []Sample{{Place{"main", 0x10}, 3}}); err != nil {
		t.Fatal(err)
	}
	if want := "no_lbr cairn:\n1 main 10 3\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}
