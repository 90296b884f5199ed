package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A clockCount is what callgrind's model counted of one build.
type clockCount struct {
	Program, Compiler, Variant string
	Instructions               int64 // with those of libraries
	Taken                      int64 // jumps and taken branches in the program itself, with tail calls, without calls and returns
	Misses                     int64 // of the first-level cache of instructions
	Mispredicted               int64
}

const clockModelCache = "--I1=32768,8,64"

// clockModel counts what each build of the programs executes; of programs that were
// counted before and are not asked for, the counts stay.
func (b *bench) clockModel(ctx context.Context, programs []*clockProgram) error {
	var counts []*clockCount
	if err := b.keptClock("model.json", &counts); err != nil {
		return err
	}
	for _, p := range programs {
		files := p.file("callgrind.%p")
		front := "valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes --dump-instr=yes --collect-jumps=yes -q " + clockModelCache +
			" --callgrind-out-file=" + strings.ReplaceAll(files, " ", "")
		runs := p.runs(front, p.g.sizes.model)
		for _, r := range runs {
			bare := p.file(filepath.Join("bare", r.Variant))
			if err := withoutSections(p.program(r.Variant), bare); err != nil {
				return err
			}
			r.argv = front + " " + bare
			if _, _, err := r.run(ctx, ""); err != nil {
				return err
			}
			count := &clockCount{Program: r.Program, Compiler: r.Compiler, Variant: r.Variant}
			if err := count.read(filepath.Join(p.dir, "callgrind.*")); err != nil {
				return fmt.Errorf("%v, %s: %w", p, r.Variant, err)
			}
			counts = replaceCount(counts, count)
		}
		if runs == nil {
			continue
		}
		if err := sameAnswers(runs); err != nil {
			return err
		}
		fmt.Fprintf(b.log, "%v: counted\n", p)
		if err := b.keepClock("model.json", counts); err != nil {
			return err
		}
	}
	return nil
}

func replaceCount(counts []*clockCount, c *clockCount) []*clockCount {
	for i, o := range counts {
		if o.Program == c.Program && o.Compiler == c.Compiler && o.Variant == c.Variant {
			counts[i] = c
			return counts
		}
	}
	return append(counts, c)
}

// withoutSections copies a program without its table of sections. Callgrind takes code for the program's if it is in a
// section that it knows, which that of BOLT's cold parts and of functions that BOLT leaves is not, and takes jumps between
// symbols, such as those to a cold part, for calls. Without sections all of the program is one function of an unknown object.
func withoutSections(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	// Of the header of 64-bit ELF: the table's offset, and the number of sections with that of their names.
	if len(data) < 64 {
		return fmt.Errorf("%s: no header of ELF", from)
	}
	clear(data[40:48])
	clear(data[60:64])
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// unknownObject is what callgrind calls code in no object that it knows.
const unknownObject = "???"

// read sums up callgrind's files of a program without sections, and removes them.
func (c *clockCount) read(pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("callgrind wrote no file")
	}
	for _, file := range files {
		if err := c.readFile(file); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads one file: the names of events, their sums, and the jumps in each object.
//
//	events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim
//	ob=(2) ???
//	jump=3 0x10 5          executed three times
//	jcnd=2/7 0x10 5        taken twice of seven times
//	totals: 1000 ...
func (c *clockCount) readFile(file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var events, totals []string
	own, inside := "", false
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); {
		line := s.Text()
		word, rest, _ := strings.Cut(line, "=")
		switch {
		case strings.HasPrefix(line, "events: "):
			events = strings.Fields(line)[1:]
		case strings.HasPrefix(line, "totals: "):
			totals = strings.Fields(line)[1:]
		case word == "ob" || word == "cob":
			id, name, named := strings.Cut(rest, " ")
			if named && name == unknownObject {
				own = id
			}
			if word == "ob" {
				inside = id == own
			}
		case inside && (word == "jump" || word == "jcnd"):
			number, _, _ := strings.Cut(strings.Fields(rest)[0], "/")
			n, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return err
			}
			c.Taken += n
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	return c.add(events, totals)
}

// add adds the sums of a file.
func (c *clockCount) add(events, totals []string) error {
	if len(totals) != len(events) || len(events) == 0 {
		return fmt.Errorf("%d events and %d sums", len(events), len(totals))
	}
	into := map[string]*int64{"Ir": &c.Instructions, "I1mr": &c.Misses, "Bcm": &c.Mispredicted, "Bim": &c.Mispredicted}
	found := 0
	for i, name := range events {
		n, err := strconv.ParseInt(totals[i], 10, 64)
		if err != nil {
			return err
		}
		if to := into[name]; to != nil {
			*to += n
			found++
		}
	}
	if found != len(into) {
		return fmt.Errorf("some of %v are missing among the events", into)
	}
	return nil
}
