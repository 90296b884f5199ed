// Command service is an HTTP service one of whose handlers is slow now and then: it needs a lock that a report holds.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"time"
)

var (
	mu     sync.Mutex
	orders = map[string]int{}
)

// lookup is fast, unless somebody has the lock.
func lookup(name string) int {
	mu.Lock()
	defer mu.Unlock()
	return orders[name]
}

// add counts an order.
func add(name string) int {
	mu.Lock()
	defer mu.Unlock()
	orders[name]++
	return orders[name]
}

// writeReport holds the lock while it writes, and closes begun when it has it.
func writeReport(begun chan struct{}) {
	mu.Lock()
	defer mu.Unlock()
	close(begun)
	time.Sleep(80 * time.Millisecond)
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	file := flag.String("address", "", "write the address to this file")
	flag.Parse()
	http.HandleFunc("/add", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, add(r.FormValue("name"))) })
	http.HandleFunc("/lookup", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, lookup(r.FormValue("name"))) })
	http.HandleFunc("/report", func(w http.ResponseWriter, r *http.Request) {
		begun := make(chan struct{})
		go writeReport(begun)
		<-begun
		fmt.Fprintln(w, "begun")
	})
	l, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	if *file != "" {
		if err := os.WriteFile(*file, []byte(l.Addr().String()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
	server := &http.Server{}
	go server.Serve(l)
	stop, done := signal.NotifyContext(context.Background(), os.Interrupt)
	defer done()
	<-stop.Done()
	server.Shutdown(context.Background())
}
