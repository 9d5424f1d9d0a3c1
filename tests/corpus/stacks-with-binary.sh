. "$SOURCE/tests/lib.sh"
# Stacks of recordings that come with their binary. The user's part of each stack, function by
# function, is what perfparser (elfutils) unwound; perf 6.1 (libunwind) finds no unwind table in this
# binary and shows the sampled function as the root, so of its folded stacks the leaves are compared.
# beside others
corpus="$SOURCE/../shared/corpus"
folder=$corpus/perfdata/with-binary/vector_static_gcc
[ -d "$folder" ] || skip "no folder with outside recordings"
need_command python3

cat >compare.py <<'EOF'
import collections, re, sys

BINARY = "vector_static_gcc_v9.1.0"
FIRST_STUB, LAST_STUB = 0x400430, 0x4005f0 # .init and .plt

def perfparser(path):
    """Weights by the starts of the user's functions, innermost first."""
    sums, functions, period = collections.Counter(), None, 0
    for line in open(path, errors="replace"):
        fields = line.rstrip("\n").split("\t")
        if not line.startswith("\t"):
            if line.strip():
                if functions is not None:
                    sums[tuple(functions)] += period
                functions = []
            continue
        found = re.match(r"\tcycles[^:]*: (\d+)", line)
        if found:
            period = int(found.group(1))
        elif len(fields) >= 4 and f" {BINARY} " in fields[-1] + " " and "(inlined)" not in line:
            functions.append(int(fields[-2].split()[0], 16))
    sums[tuple(functions)] += period
    return sums

def ours(path):
    sums, functions, period = collections.Counter(), None, 0
    for line in open(path):
        found = re.match(r"\S.*: +(\d+) cycles", line)
        if found:
            period, functions = int(found.group(1)), []
        elif line.startswith("\t"):
            found = re.match(r"\t +([0-9a-f]+) .*\+0x([0-9a-f]+) \(.*" + re.escape(BINARY) + r"\)", line)
            if found:
                functions.append(int(found.group(1), 16) - int(found.group(2), 16))
            # without stack bytes (the process is ending) perfparser leaves out the user's code,
            # we show what the registers say
            if "user stack not unwound" in line:
                functions = []
        elif functions is not None:
            sums[tuple(functions)] += period
            functions = None
    if functions is not None:
        sums[tuple(functions)] += period
    return sums

theirs, mine = perfparser(sys.argv[1]), ours(sys.argv[2])
# A stub is a symbol of its own to us; perfparser takes the symbol before it, _init.
def one_stub(sums):
    joined = collections.Counter()
    for functions, weight in sums.items():
        joined[tuple(FIRST_STUB if FIRST_STUB <= f < LAST_STUB else f for f in functions)] += weight
    return joined
theirs, mine = one_stub(theirs), one_stub(mine)
for functions in sorted(set(theirs) | set(mine)):
    if theirs[functions] != mine[functions]:
        print(" ".join(f"{f:x}" for f in functions), "theirs", theirs[functions], "ours", mine[functions])
print(f"{len(mine)} stacks, {sum(mine.values())} cycles")
EOF
for file in perf.data perf.data.zstd; do
	culprit export -q -f perf-script --symfs "$folder" "$folder/$file" >script
	python3 compare.py "$folder/$file.expected.txt" script >found
	echo "$file: $(tail -n 1 found)"
	[ "$(wc -l <found)" = 1 ] || fail "$file: $(cat found)"
done

# Without binaries nothing is made up: the sampled code, below what says that its callers are not
# known, and a note that counts and names what was missing.
while read -r file event missing; do
	culprit export -e "$event" "$corpus/perfdata/$file" >folded 2>notes
	grep -q "user stacks are not unwound to their root: .*$missing" notes || fail "$file: $(cat notes)"
	grep -q ';\[unknown: user stack not unwound\];' folded || fail "$file: $(cat folded)"
done <<'EOF'
linux/hotspot.PerfFormatLost cycles '/usr/lib/libc.so.6' (
pipe/perfparser.contentsize.data cache-references untitled3
EOF

# What perf's folded stacks and ours both have: the sampled function, its weight. Of one address with
# several names, perf takes another; stubs it calls _init, for it has no symbols for them here.
leaves() {
	perl -ne '
		chomp; /^(.*) (\d+)$/ or die;
		my ($stack, $count) = ($1, $2);
		my $leaf = (split /;/, $stack)[-1];
		$leaf =~ s/^\[?\[(kernel.*|unknown.*)\]\]?$/[kernel]/;
		$leaf =~ s/^\[ext4\]$|^\[\[ext4\]\]$/[ext4]/;
		$leaf =~ s/\(.*//; $leaf =~ s/^void //; $leaf =~ s/<.*//;
		$leaf =~ s/^__hypot_finite$/__ieee754_hypot/; $leaf =~ s/^(hypot|munmap)$/__$1/; $leaf =~ s/^\w+\@plt$/_init/;
		# perf unfolds inlined functions of main
		$leaf = "main" if $leaf =~ /^std::(accumulate|generate_n)$/;
		$sum{$leaf} += $count;
		END { print "$_ $sum{$_}\n" for sort keys %sum }'
}
command -v perl >/dev/null || exit 0
for file in perf.data.zstd perf.data; do
	culprit export -q --symfs "$folder" "$folder/$file" >folded
	leaves <folded >ours
	leaves <"$corpus/expected/symbolised/vector_static_gcc.$file.folded" >theirs
	diff theirs ours >differences || true
	# inlined leaves of main stand under their own names in perf's
	grep '^[<>]' differences | grep -vE '^[<>] (main|std::vector|operator|generate_n|std::)' >left || true
	[ ! -s left ] || fail "$file: $(cat differences)"
done
