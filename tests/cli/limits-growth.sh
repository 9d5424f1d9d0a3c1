# Four times the file costs about four times the time, whatever is in it; what looks through all of
# one part for each row of another takes sixteen times as long. Times are a process's own, on the CPU.
make="$TOOLS/make-costly-file"
cost() { # KIND N: hundredths of a second
	$make $1 $2 file
	times >before
	culprit report file >/dev/null 2>said || cat said
	times >after
	awk 'FNR == 2 { gsub(/[ms]/, " "); taken = $1 * 60 + $2 + $3 * 60 + $4 - taken }
		END { print int(taken * 100 + 0.5) }' before after
}
grows() { # KIND N
	small=$(cost $1 $2)
	large=$(cost $1 $(($2 * 4)))
	[ "$small" -ge 5 ] || small=5 # of less the start of a process is the most
	[ "$large" -le $((small * 8)) ] && echo "$1: in proportion" ||
		echo "$1: $2 take $small hundredths of a second, four times as many $large"
}
grows cpu-names 3000
grows cpu-variables 8000
grows mappings 4000
