# A Go program, with its symbol table and stripped of it: each sample has its procedure's name, and stacks reach
# what goroutines and threads begin with, across the change to the thread's stack for the garbage collector.
# beside others
. "$SOURCE/tests/lib.sh"
need_command go strip jq
need_cpu_sampling
cat >work.go <<'END'
package main

import (
	"encoding/json"
	"fmt"
	"sort"
	"sync"
	"time"
)

type node struct {
	left, right *node
	value       int
}

func build(depth int) *node {
	if depth == 0 {
		return &node{value: 1}
	}
	return &node{build(depth - 1), build(depth - 1), depth}
}

func work(wait *sync.WaitGroup, end time.Time) {
	defer wait.Done()
	for time.Now().Before(end) {
		build(14)
		numbers := map[string]int{}
		for i := 0; i < 1000; i++ {
			numbers[fmt.Sprintf("k%d", i*7919%977)]++
		}
		text, _ := json.Marshal(numbers)
		words := []string{}
		for i := range text {
			words = append(words, string(text[i:]))
		}
		sort.Strings(words)
	}
}

func main() {
	var wait sync.WaitGroup
	end := time.Now().Add(2500 * time.Millisecond)
	for i := 0; i < 3; i++ {
		wait.Add(1)
		go work(&wait, end)
	}
	wait.Wait()
}
END
HOME=$PWD GOCACHE=$PWD/cache go build -o work work.go
strip -o stripped work
check() { # WHAT PROFILE
	culprit report --json "$2" >report.json
	expect_between "samples, $1" "$(jq .stacks.user_samples report.json)" 500 20000
	expect_between "percent of broken stacks, $1" "$(jq .stacks.broken_percent report.json)" 0 1
	expect_equal "stacks that are not judged, $1" "$(jq .stacks.unjudged_samples report.json)" 0
	culprit report --inclusive --min 0 --limit 0 --no-inline "$2" >procedures
	for name in main.work main.build encoding/json.Marshal runtime.systemstack; do
		expect_between "rows of $name, $1" "$(awk -v name=$name '{ sub(/\.abi0$/, "", $NF) } $NF == name { n++ } END { print n + 0 }' procedures)" 1 1
	done
	# goroutines' roots, and what the collector does in theirs
	culprit report --tree --min 0 --limit 0 --no-inline "$2" >tree
	grep -q 'runtime\.gcBgMarkWorker$' tree || fail "no worker of the collector, $1: $(head -n 40 tree)"
}
culprit record -q -F 1000 -g -o work.prof -- ./work
check "with symbols" work.prof
culprit record -q -F 1000 -g -o stripped.prof -- ./stripped
check "stripped" stripped.prof
