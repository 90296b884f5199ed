package flowcount

import (
	"math"
	"math/rand/v2"
	"testing"
)

// walk makes a random function and lets it run: loops, branches that are mostly taken one
// way, and blocks of all lengths. It returns how often blocks ran.
func walk(rnd *rand.Rand) (blocks []Block, ran []float64) {
	n := 5 + rnd.IntN(40)
	blocks, ran = make([]Block, n), make([]float64, n)
	taken := make([]float64, n)
	for i := range blocks {
		blocks[i].Cost = float64(1 + rnd.IntN(12))
		blocks[i].Entered = i == 0
		taken[i] = []float64{0.02, 0.5, 0.9}[rnd.IntN(3)]
		if i+1 < n {
			blocks[i].Next = append(blocks[i].Next, i+1)
		}
		switch {
		case i+1 == n:
			blocks[i].Left = true
		case rnd.IntN(4) == 0:
			blocks[i].Next = append(blocks[i].Next, rnd.IntN(i+1))
		case rnd.IntN(2) == 0:
			blocks[i].Next = append(blocks[i].Next, i+1+rnd.IntN(n-i-1))
		}
	}
	for range 200 {
		at := 0
		for range 2000 {
			ran[at]++
			if blocks[at].Left {
				break
			}
			next := blocks[at].Next
			k := 0
			if len(next) == 2 && rnd.Float64() < taken[at] {
				k = 1
			}
			at = next[k]
		}
	}
	return blocks, ran
}

// poisson returns a number of that distribution, or about that.
func poisson(rnd *rand.Rand, mean float64) uint64 {
	return uint64(max(0, math.Round(mean+math.Sqrt(mean)*rnd.NormFloat64())))
}

// overlap is the share of time that two counts agree on.
func overlap(blocks []Block, a, b []float64) (same float64) {
	sumA, sumB := 0.0, 0.0
	for i := range a {
		sumA, sumB = sumA+a[i]*blocks[i].Cost, sumB+b[i]*blocks[i].Cost
	}
	for i := range a {
		same += min(a[i]*blocks[i].Cost/sumA, b[i]*blocks[i].Cost/sumB)
	}
	return same
}

// TestInfer samples random functions whose instructions have different costs, and compares the
// inferred counts with how often blocks ran.
func TestInfer(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 7))
	better, sumRaw, sumInferred := 0, 0.0, 0.0
	const functions = 60
	for range functions {
		blocks, ran := walk(rnd)
		total := 0.0
		for i := range blocks {
			total += ran[i] * blocks[i].Cost
		}
		raw := make([]float64, len(blocks))
		for i := range blocks {
			slow := math.Exp(0.5 * rnd.NormFloat64()) // what one instruction costs
			blocks[i].Samples = poisson(rnd, 2000*ran[i]*blocks[i].Cost*slow/total)
			raw[i] = float64(blocks[i].Samples) / blocks[i].Cost
		}
		got := Infer(blocks)
		before, after := overlap(blocks, raw, ran), overlap(blocks, got.Blocks, ran)
		sumRaw, sumInferred = sumRaw+before, sumInferred+after
		if after > before {
			better++
		}
		for i := range blocks {
			sum := 0.0
			for _, f := range got.Edges[i] {
				if f < 0 {
					t.Fatalf("a flow of %v", f)
				}
				sum += f
			}
			if math.IsNaN(got.Blocks[i]) || sum > 2*got.Blocks[i]+1e-9 {
				t.Fatalf("block %d ran %v times, and what is behind it %v", i, got.Blocks[i], sum)
			}
		}
	}
	t.Logf("overlap %.3f as sampled, %.3f inferred; better in %d of %d", sumRaw/functions, sumInferred/functions, better, functions)
	if sumInferred < sumRaw+0.05*functions || better < functions*3/4 {
		t.Errorf("overlap %.3f as sampled, %.3f inferred; better in %d of %d", sumRaw/functions, sumInferred/functions, better, functions)
	}
}

// TestLines checks that blocks in a row that ran equally often get the same count, and that a
// block without samples gets the count of the path through it.
func TestLines(t *testing.T) {
	t.Parallel()
	blocks := []Block{
		{Entered: true, Next: []int{1}, Samples: 100, Cost: 10},
		{Next: []int{2}, Samples: 0, Cost: 1},
		{Next: []int{3, 4}, Samples: 120, Cost: 10},
		{Next: []int{5}, Samples: 80, Cost: 10},
		{Next: []int{5}, Samples: 0, Cost: 10},
		{Left: true, Samples: 110, Cost: 10},
	}
	got := Infer(blocks).Blocks
	for _, i := range []int{0, 1, 2, 3, 5} {
		if got[i] < 7 || got[i] > 13 {
			t.Errorf("block %d ran %.2f times, want about 10", i, got[i])
		}
	}
	if got[4] > 1.5 {
		t.Errorf("block 4 ran %.2f times, and has no sample", got[4])
	}
	for i, c := range Infer([]Block{{Entered: true, Left: true, Next: []int{0}, Cost: 1}}).Blocks {
		if c != 0 {
			t.Errorf("block %d without samples ran %v times", i, c)
		}
	}
}
