// Package order computes the order in which a program's functions should be linked, from
// traces of first executions, counts and call edges, and evaluates orders in pages. It is
// pure.
//
// # Which algorithm when
//
// Startup is the default. Functions in traces come first, by Signature: it has the fewest
// pages touched by whole traces, and nearly the fewest early in a trace. They are followed by
// functions that ran but are in no trace, by Hot, then the rest by address. Without traces,
// functions with a first-execution index come first, by the number of runs that reached them.
// Functions that MarkHot marks, which have nearly all of what was executed, are in the second
// part even if they are in a trace.
//
// The others are for comparison, or for other goals:
//
//   - First links the traces one after the other: what a person would do by
//     hand with one trace, and hard to beat with one.
//   - Mean sorts by mean first-execution index, which needs no traces. What few
//     runs use stands in the middle of what all use.
//   - BP and BPLLD are balanced partitioning with the rules of llvm-profdata
//     order and of lld's --bp-startup-sort (Hoag, Lee, Mestre, Pupyrev,
//     arXiv 2211.09285).
//   - Hot is cache-directed sort, lld's and BOLT's default for call graphs, and
//     C3 call-chain clustering, known as hfsort (Ottoni, Maher, CGO 2017). They
//     are for throughput: callees near their callers. As orders for start-up they
//     get half or more of what is to be had.
//
// # Measured
//
// Mean pages of 4 KiB that a scenario touches with the functions laid out back
// to back and aligned to 16 bytes, averaged over positions of the page borders,
// in-sample and with each scenario left out; and the mean pages touched so far
// along a run (area). Programs: sqlite 3.40.1 with 14 scenarios, lua 5.4.4 with
// 11, ninja 1.11.1 with 17, CPython 3.11.2 with 12; clang 22 -O2, traced by
// breakpoints. The held-out pages are for one position of the borders.
// MEASURE=1 go test -v -run Measure prints this table. Linked by lld with the
// startup order, sqlite has 88.3 pages at the real addresses, CPython 201.2; as
// they were, 148.5 and 374.1.
//
//	               sqlite             lua               ninja             python
//	               pages area  held   pages area held   pages area held   pages area  held
//	by address     151.6 88.3         41.1  27.5        24.8  16.9        373.9 218.3
//	startup         88.2 50.9 104.4   23.0  11.4 29.9   13.7   7.9 14.8   200.5  97.5 231.9
//	bp-lld          93.7 51.2 107.1   24.6  12.0 30.1   15.2   8.5 15.5   205.1  99.9 235.8
//	bp              93.8 51.3 108.8   24.3  11.8 30.4   15.2   8.4 14.9   205.4 100.1 235.9
//	bp, filtered   100.5 52.3 111.7   28.9  12.4 32.5   15.4   8.4 16.1   240.0 105.3 255.8
//	first          100.0 51.5 110.9   25.7  11.6 31.3   14.6   7.7 14.6   214.1  98.7 236.2
//	mean           118.1 59.3 125.6   32.0  12.3 35.4   16.3   8.4 16.4   255.2 104.3 271.4
//	no traces       99.6 53.7         27.3  12.1        14.6   7.8        218.5  99.9
//	bytes alone     84.6              21.2              12.6              193.5
//
// "No traces" is startup from counts alone. Filtered partitioning is the method of
// llvm-profdata; its own orders of the same traces are within 0.8 pages of that line. Hot and
// C3 give the same orders as lld for the same call graph, function by function. Tests check
// both.
//
// Held out and in-sample differ mostly by functions that the other scenarios never ran: 1.9 %
// to 3.5 % of the bytes, scattered over the binary. LeaveOneOut computes that share; above 5
// %, more scenarios help more than another algorithm.
//
// # Tried and left out
//
// Pages in-sample, then held out, against the path through the signatures before
// its gaps are lowered (sqlite 90.2, 105.3; python 202.2, 232.3):
//
//   - Joining groups of less than 512 bytes to the most similar one: 90.2, 105.8;
//     202.2, 231.8. Of less than 4096 bytes: 91.6, 106.5; 205.8, 233.8.
//   - The first quarter or half of all traces before the rest: 92.1 to 97.8 and
//     106.6 to 110.1 on sqlite for 0.3 pages less area at most.
//   - A bit of its own in the signature for the first half of each trace: within
//     0.7 pages and 1.4 of area either way.
//   - Counting pages at one position of the borders: 87.4 there, but 92 to 94 at
//     the others. The linker decides the position, so gaps are lowered instead.
//   - Inside groups: the order of balanced partitioning costs 1.6 of area on
//     python; by address 26 pages of area; by similarity 31 pages of area for
//     0.7 % less gzip and 0.2 % less zstd. The mean position stays.
//
// Options.Compress gains little, and nothing for most programs: similarity reduces compressed
// code by up to 1.4 %, but the unwind tables and relocations grow by more in four of the five
// programs of bench's download part (docs/layout-why.md). So it is used only if the estimated sum
// is smaller. Chunks of 8 to 512 functions of the order by similarity, sorted by address
// inside, are no better on average.
//
// # Cost
//
// For 100,000 functions, 100 traces of 3,900 functions with 9,925 signatures and 200,000
// edges, on two cores with other load: signature 4 to 6 s, hot 4 s, bp 2 to 5 s, first, mean
// and c3 below 1 s, with at most 130 MB of memory. BP uses all cores, and LeaveOneOut computes
// as many of its orders in parallel as there are cores; everything else is single-threaded.
// Results do not depend on a clock, the order of a map, the number of cores or the machine.
package order
