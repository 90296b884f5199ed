package parquet

// dict is the dictionary of a column in a group of rows: of numbers or of texts.
type dict struct {
	numbers []int64
	texts   []string
	ofText  map[string]int64
	slots   []uint32 // a hash table of numbers: index into numbers and 1, or 0
	last    int64    // the index that was returned last: values often repeat
}

func (d *dict) len() int { return max(len(d.numbers), len(d.texts)) }

// number returns the index of n.
func (d *dict) number(n int64) int64 {
	if d.last < int64(len(d.numbers)) && d.numbers[d.last] == n {
		return d.last
	}
	if len(d.numbers)*2 >= len(d.slots) {
		d.grow()
	}
	at := d.slot(n)
	if d.slots[at] == 0 {
		d.numbers = append(d.numbers, n)
		d.slots[at] = uint32(len(d.numbers))
	}
	d.last = int64(d.slots[at]) - 1
	return d.last
}

// slot returns where n is in the hash table, or where it goes.
func (d *dict) slot(n int64) int {
	mask := uint64(len(d.slots) - 1)
	at := uint64(n) * 0x9e3779b97f4a7c15 >> 32 & mask // Fibonacci hashing
	for d.slots[at] != 0 && d.numbers[d.slots[at]-1] != n {
		at = (at + 1) & mask
	}
	return int(at)
}

// grow makes the hash table twice as large.
func (d *dict) grow() {
	d.slots = make([]uint32, max(64, 2*len(d.slots)))
	for i, n := range d.numbers {
		d.slots[d.slot(n)] = uint32(i) + 1
	}
}

// text returns the index of s.
func (d *dict) text(s string) int64 {
	if d.last < int64(len(d.texts)) && d.texts[d.last] == s {
		return d.last
	}
	i, ok := d.ofText[s]
	if !ok {
		if d.ofText == nil {
			d.ofText = make(map[string]int64)
		}
		i = int64(len(d.texts))
		d.texts = append(d.texts, s)
		d.ofText[s] = i
	}
	d.last = i
	return i
}

func (d *dict) reset() {
	d.numbers, d.last = d.numbers[:0], 0
	clear(d.texts) // so that the texts can be collected
	d.texts = d.texts[:0]
	clear(d.slots)
	clear(d.ofText)
}
