// Goroutines on stacks of their own, which grow, are passed on between threads, and wait for each other. It says how often each
// function was called.
package main

import "fmt"
import "sync/atomic"

var work_calls, leaf_calls, deep_calls, sum_calls, send_calls int64

//go:noinline
func leaf(x int) int { atomic.AddInt64(&leaf_calls, 1); return x*3 + 1 }

//go:noinline
func deep(n int) int {
	atomic.AddInt64(&deep_calls, 1)
	var room [300]byte
	room[n%300] = byte(n)
	if n == 0 {
		return 0
	}
	return deep(n-1) + int(room[n%300]) + 1
}

//go:noinline
func work(id int, in <-chan int, out chan<- int) {
	atomic.AddInt64(&work_calls, 1)
	for x := range in {
		out <- leaf(x+id) + deep(x%40)
	}
}

//go:noinline
func send(in chan<- int, n int) {
	atomic.AddInt64(&send_calls, 1)
	for i := 0; i < n; i++ {
		in <- i
	}
	close(in)
}

//go:noinline
func sum(out <-chan int, n int) int {
	atomic.AddInt64(&sum_calls, 1)
	s := 0
	for i := 0; i < n; i++ {
		s += <-out
	}
	return s
}

func main() {
	in, out := make(chan int), make(chan int)
	for i := 0; i < 4; i++ {
		go work(i, in, out)
	}
	go send(in, 600)
	sum(out, 600)
	fmt.Println("main.leaf", leaf_calls)
	fmt.Println("main.deep", deep_calls)
	fmt.Println("main.work", work_calls)
	fmt.Println("main.send", send_calls)
	fmt.Println("main.sum", sum_calls)
	fmt.Println("main.main", 1)
}
