# Cuts the names in folded lines as stackcollapse-perf.pl does before it prints
# them: what is in brackets after a name, quotes, the L before a Java class, and
# ':' for a ';' inside a name (culprit writes %3B).
function tidy(name, mark, at, rest) {
	mark = ""
	if (match(name, /_\[[kji]\]$/)) {
		mark = substr(name, RSTART)
		name = substr(name, 1, RSTART - 1)
	}
	gsub(/%3B/, ":", name)
	if (name !~ /[.][(].*[)][.]/) { # a method of Go keeps its brackets
		at = 1
		rest = name
		while (match(rest, /[(]/)) {
			if (substr(rest, RSTART, 21) != "(anonymous namespace)") {
				name = substr(name, 1, at + RSTART - 2)
				break
			}
			at += RSTART
			rest = substr(rest, RSTART + 1)
		}
	}
	gsub(/["']/, "", name)
	if (java && name ~ /^L.*\//)
		name = substr(name, 2)
	return name mark
}
{
	match($0, / [0-9]+$/)
	count = substr($0, RSTART + 1)
	frames = split(substr($0, 1, RSTART - 1), frame, ";")
	java = frame[1] == "java" # and not "java-123", as it calls it with --pid
	line = frame[1]
	for (i = 2; i <= frames; i++)
		line = line ";" tidy(frame[i])
	sum[line] += count
}
END {
	for (line in sum)
		printf "%s %d\n", line, sum[line]
}
