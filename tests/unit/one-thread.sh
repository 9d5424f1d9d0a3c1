#!/bin/sh
# one-thread.sh NM PROGRAM... - that each program can start no thread and install no signal handler, by
# what it takes from libraries: the thread sanitizer does not run it.
set -eu
nm=$1
shift
status=0
for program; do
	symbols=$("$nm" --dynamic --undefined-only "$program")
	echo "$symbols" | grep -q ' __libc_start_main' || { echo "$program: no symbols are read"; status=1; }
	found=$(echo "$symbols" | sed 's/.* //; s/@.*//' |
		grep -x -E 'pthread_create|thrd_create|clone|sigaction|signal|sigset|timer_create' || true)
	[ -z "$found" ] || { echo "$program: $found"; status=1; }
done
exit $status
