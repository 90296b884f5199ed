package account

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/cairnprof/cairn/calllog"
)

// A program is a set of functions with call sites. Benchmarks run it to get events like those
// of a database: some thousand stacks, most of them rare.
type program struct {
	sites [][]site // by function
	depth int
	rand  *rand.Rand
	now   uint64
	left  int
	part  []calllog.Event
	parts []calllog.Part
}

type site struct {
	callee calllog.FuncID
	often  float64 // probability that a call gets here
	times  int
}

const perPart = 2000 // about a block of 16 KiB

func newProgram(funcs, depth int, seed uint64) *program {
	p := &program{depth: depth, rand: rand.New(rand.NewPCG(seed, 1)), now: 1 << 40, sites: make([][]site, funcs)}
	for f := range p.sites {
		for range 2 + p.rand.IntN(6) {
			s := site{often: p.rand.Float64(), times: 1}
			// A few functions are called from everywhere, the others from near.
			switch x := p.rand.Float64(); {
			case x < 0.25:
				s.callee = calllog.FuncID(p.rand.IntN(funcs / 50))
			case x < 0.3:
				s.times = 1 + p.rand.IntN(20)
				fallthrough
			default:
				s.callee = calllog.FuncID((f + 1 + p.rand.IntN(40)) % funcs)
			}
			if p.rand.Float64() < 0.6 {
				s.often *= 0.05
			}
			p.sites[f] = append(p.sites[f], s)
		}
	}
	return p
}

func (p *program) event(k calllog.Kind, f calllog.FuncID) {
	// Most calls of a function take about as long as its last.
	p.now += 20 + uint64(f)%64 + uint64(p.rand.IntN(16))
	if p.rand.IntN(512) == 0 {
		p.now += uint64(p.rand.IntN(20000))
	}
	p.part = append(p.part, calllog.Event{Time: p.now, Func: f + 1, Kind: k})
	if p.left--; len(p.part) == perPart {
		p.flush()
	}
}

func (p *program) flush() {
	p.parts = append(p.parts, calllog.Part{Events: p.part, Break: true})
	p.part = make([]calllog.Event, 0, perPart)
}

func (p *program) call(f calllog.FuncID, depth int) {
	p.event(calllog.Enter, f)
	if depth < p.depth {
		for _, s := range p.sites[f] {
			if p.rand.Float64() >= s.often {
				continue
			}
			for range s.times {
				if p.left > 0 {
					p.call(s.callee, depth+1)
				}
			}
		}
	}
	p.event(calllog.Exit, f)
}

func (p *program) run(events int) *calllog.Memory {
	p.left = events
	p.event(calllog.Enter, 0)
	for p.left > 0 {
		p.call(calllog.FuncID(1+p.rand.IntN(4)), 2)
	}
	p.event(calllog.Exit, 0)
	p.flush()
	m := memory(p.parts)
	m.About.Clock.Hz = 1e9
	return m
}

var benchLogs = map[string]*calllog.Memory{}

// benchLog makes a log of 4 million events of a program whose trie grows with
// the number of its functions.
func benchLog(b *testing.B, funcs, depth int) *calllog.Memory {
	b.Helper()
	key := fmt.Sprint(funcs, depth)
	if benchLogs[key] == nil {
		benchLogs[key] = newProgram(funcs, depth, 7).run(4e6)
	}
	return benchLogs[key]
}

func benchmarkRun(b *testing.B, opt Options, hz uint64) {
	for _, c := range []struct{ funcs, depth int }{{300, 12}, {1000, 20}, {1500, 40}} {
		log := benchLog(b, c.funcs, c.depth)
		log.About.Clock.Hz = hz
		res, err := Run(b.Context(), log, opt)
		if err != nil {
			b.Fatal(err)
		}
		th := res.Threads[0]
		b.Run(fmt.Sprintf("nodes=%d/depth=%d", th.Trie.Len(), th.Stats.MaxDepth), func(b *testing.B) {
			for b.Loop() {
				if _, err := Run(b.Context(), log, opt); err != nil {
					b.Fatal(err)
				}
			}
			perEvent := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(th.Stats.Events)
			b.ReportMetric(perEvent, "ns/event")
			b.ReportMetric(1e3/perEvent, "Mevents/s")
		})
	}
}

// BenchmarkRun replays one thread on one core. The events are in memory.
func BenchmarkRun(b *testing.B) { benchmarkRun(b, Options{Workers: 1, Slowest: 20}, 1e9) }

// BenchmarkTicks is BenchmarkRun with a clock that has to be converted.
func BenchmarkTicks(b *testing.B) { benchmarkRun(b, Options{Workers: 1, Slowest: 20}, 2596100000) }

// BenchmarkStitch joins a chunk of a million events to the stack that it began with, which a
// second core did not know while it replayed the chunk.
func BenchmarkStitch(b *testing.B) {
	for _, c := range []struct{ funcs, depth int }{{300, 12}, {1000, 20}} {
		log := benchLog(b, c.funcs, c.depth)
		b.Run(fmt.Sprintf("depth=%d", c.depth), func(b *testing.B) {
			const from, to = 500, 1000
			var stitching, replaying time.Duration
			nodes, pieces := 0, 0
			for b.Loop() {
				r := newReplayer(log, 0, Options{})
				if err := r.run(b.Context(), stretch{log, 0, 0, from}); err != nil {
					b.Fatal(err)
				}
				begin := time.Now()
				s := replaySegment(b.Context(), stretch{log, 0, from, to}, Options{})
				replaying += time.Since(begin)
				begin = time.Now()
				if err := r.apply(b.Context(), log, s); err != nil || s.cut {
					b.Fatal("not whole: ", err)
				}
				stitching += time.Since(begin)
				for _, c := range s.chunks {
					nodes, pieces = nodes+c.r.trie.Len(), pieces+len(c.pieces)
				}
			}
			b.ReportMetric(float64(stitching)/float64(nodes), "ns/node")
			b.ReportMetric(100*float64(stitching)/float64(replaying), "%ofreplay")
			b.ReportMetric(float64(nodes)/float64(b.N), "nodes")
			b.ReportMetric(float64(pieces)/float64(b.N), "pieces")
		})
	}
}

// BenchmarkCalls replays a thread call by call.
func BenchmarkCalls(b *testing.B) {
	log := benchLog(b, 300, 12)
	n := 0
	for b.Loop() {
		for _, err := range Calls(b.Context(), log, 0, Options{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/call")
}

// BenchmarkSelect follows a thread up to its last part, as what begins before a selection is followed: by
// digests, on one core, and by the rules of the selection itself.
func BenchmarkSelect(b *testing.B) {
	log := benchLog(b, 300, 12)
	parts := log.Content[0]
	end := parts[len(parts)-1].Events[0].Time
	for _, c := range []struct {
		name string
		want calllog.Selection
	}{
		{"digested", calllog.Selection{From: end, Workers: 1}},
		{"replayed", calllog.Selection{Longer: 1 << 60, DropOpen: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				for _, err := range calllog.Select(log, c.want).Batches(0, 0, 1) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4e6, "ns/event")
		})
	}
}
