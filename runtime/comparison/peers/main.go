// The programs of src/peers.rs on goroutines: ./go PROGRAM prints the nanoseconds of each operation.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"
)

const (
	workers    = 2
	leaves     = 1_000_000
	children   = 10
	trips      = 200_000
	contenders = 64
	turns      = 10_000
	rounds     = 400
	forks      = 1_000
	stages     = 8
	entries    = 50_000
	depth      = 64
)

func check(holds bool) {
	if !holds {
		panic("a wrong result")
	}
}

func sky(sums chan<- int, first, size int) {
	if size == 1 {
		sums <- first
		return
	}
	below := make(chan int, children)
	size /= children
	for child := 0; child < children; child++ {
		go sky(below, first+child*size, size)
	}
	sum := 0
	for child := 0; child < children; child++ {
		sum += <-below
	}
	sums <- sum
}

func skynet() int {
	sums := make(chan int, 1)
	go sky(sums, 0, leaves)
	check(<-sums == leaves*(leaves-1)/2)
	return leaves
}

func pingPong() int {
	there, back := make(chan int, 1), make(chan int, 1)
	go func() {
		for trip := 0; trip < trips; trip++ {
			back <- <-there + 1
		}
	}()
	ball := 0
	for trip := 0; trip < trips; trip++ {
		there <- ball
		ball = <-back
	}
	check(ball == trips)
	return trips
}

func contention() int {
	var lock sync.Mutex
	var end sync.WaitGroup
	count := 0
	for contender := 0; contender < contenders; contender++ {
		end.Add(1)
		go func() {
			defer end.Done()
			for turn := 0; turn < turns; turn++ {
				lock.Lock()
				count++
				lock.Unlock()
			}
		}()
	}
	end.Wait()
	check(count == contenders*turns)
	return count
}

func forkJoin() int {
	for round := 0; round < rounds; round++ {
		var end sync.WaitGroup
		end.Add(forks)
		for fork := 0; fork < forks; fork++ {
			go end.Done()
		}
		end.Wait()
	}
	return rounds * forks
}

func pipeline() int {
	first := make(chan int, depth)
	last := first
	for stage := 0; stage < stages; stage++ {
		from, to := last, make(chan int, depth)
		go func() {
			for entry := 0; entry < entries; entry++ {
				to <- <-from + 1
			}
		}()
		last = to
	}
	go func() {
		for entry := 0; entry < entries; entry++ {
			first <- entry
		}
	}()
	for entry := 0; entry < entries; entry++ {
		check(<-last == entry+stages)
	}
	return stages * entries
}

func main() {
	runtime.GOMAXPROCS(workers)
	programs := map[string]func() int{
		"skynet": skynet, "ping-pong": pingPong, "contention": contention,
		"fork-join": forkJoin, "pipeline": pipeline,
	}
	program := programs[os.Args[len(os.Args)-1]]
	if program == nil {
		fmt.Fprintln(os.Stderr, "no such program")
		os.Exit(2)
	}
	start := time.Now()
	operations := program()
	fmt.Printf("%.1f\n", float64(time.Since(start).Nanoseconds())/float64(operations))
}
