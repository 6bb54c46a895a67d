// A goroutine whose stack the garbage collector copies while it waits: it goes on where none has waited. It says how often each
// function was called.
package main

import (
	"fmt"
	"runtime"
)

var deep_calls, worker_calls, feed_calls int

//go:noinline
func deep(n int, x [16]int) int {
	deep_calls++
	if n == 0 {
		return x[0]
	}
	x[n&15] += n
	return deep(n-1, x) + x[1]
}

//go:noinline
func worker(in chan int, out chan int) {
	worker_calls++
	for {
		n := <-in
		var room [16]int
		out <- deep(n, room)
	}
}

//go:noinline
func feed(in chan int, out chan int) {
	feed_calls++
	for i := 0; i < 5; i++ {
		in <- 300
		<-out
		runtime.GC()
		runtime.GC()
	}
}

func main() {
	in, out := make(chan int), make(chan int)
	go worker(in, out)
	feed(in, out)
	fmt.Println("main.deep", deep_calls)
	fmt.Println("main.feed", feed_calls)
	fmt.Println("main.main", 1)
	fmt.Println("main.worker", worker_calls)
}
