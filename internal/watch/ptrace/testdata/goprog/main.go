// Command goprog keeps the Go runtime busy: goroutines that are preempted by
// signals, garbage collection, a nil dereference that becomes a panic, a child.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
)

//go:noinline
func spin(n int) (sum int) {
	for i := range n {
		sum += i % 7
	}
	return sum
}

//go:noinline
func faulty(p *int) (err any) {
	defer func() { err = recover() }()
	return *p
}

func main() {
	var wg sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 16 {
		wg.Go(func() {
			for range 20 {
				n := spin(100000)
				b := make([][]byte, 100)
				for i := range b {
					b[i] = make([]byte, 1000)
				}
				mu.Lock()
				total += n
				mu.Unlock()
			}
			runtime.GC()
		})
	}
	wg.Wait()
	out, err := exec.Command("/bin/echo", "child").Output()
	fmt.Println(total, faulty(nil) != nil, string(out), err)
	os.Exit(7)
}
