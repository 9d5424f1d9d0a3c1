. "$SOURCE/tests/lib.sh"
# Folded stacks of every outside perf.data against what perf script and stackcollapse-perf.pl make of
# it, stack by stack and weight by weight. Both sides are first brought to one spelling:
#
#   kernel    perf writes [[kernel.kallsyms]], or the base name of a vmlinux's path; culprit [kernel]
#   unknown   culprit says the cause and writes a run of unknown frames once
#   user      where registers and stack bytes were recorded instead of a user chain, perf script without the
#             binary prints no user frame at all, not even the sampled one
#   command   stackcollapse-perf.pl turns spaces into _ and, for commands of one letter, takes what follows
#             them (PID and time, or a _) into the name; perf writes :TID for a thread of unknown name, culprit leaves it out
#   jit       perf names run-time code after the map file it would look for
#
# What then still differs must be in perf-data-stacks.txt, with the reference's fault that explains it.
# beside others
corpus="$SOURCE/../shared/corpus"
[ -d "$corpus/perfdata" ] || skip "no folder with outside recordings"
need_command perl

one_spelling() {
	sed -E 's/^x_[0-9]+_[0-9.]+:;/x;/; s/^X_;/X;/; s/^:[0-9]+;//' |
		perl -I"$SOURCE/tests/corpus" -MStacks -e 'spell {
		my ($command, @frames) = @_;
		my ($no_user, $before, @kept) = (0, 0);
		$command =~ tr/ /_/ unless $command =~ /^\[/;
		for ($command, @frames) {
			$no_user = 1, $before = @kept, next if $_ eq "[unknown: user stack not unwound]";
			s/^\[unknown: .*\]$/[unknown]/;
			s/^\[?\[(kernel, base unknown|kernel\.kallsyms|vmlinux)\]\]?$/[kernel]/;
			s/^\[?\[(\w+)(\.ko)?\]\]?$/[$1]/;
			s/^\[(jit .*|perf-\d+\.map)\]$/[jit]/;
			$#kept = $before - 1, $no_user = 0
				if $no_user && /^\[(kernel|kvm|ext4)\]$/;
			next if $no_user && $_ ne "[unknown]" || @kept && $_ eq "[unknown]" && $kept[-1] eq $_;
			push @kept, $_;
		}
		return @kept }'
}

here=$PWD
cd "$corpus/perfdata"
checked=0
: >"$here/differences"
for file in */* */*/*; do
	reference=$corpus/expected/perf/$(echo "$file" | sed 's,/,__,g').folded
	[ -f "$reference" ] || continue
	# stackcollapse-perf.pl takes the first event it meets and no other
	event=$(culprit export -q --stash-only -f csv "$file" 2>/dev/null | awk -F, 'NR == 2 { print $2 }')
	(cd "$here" && culprit export -q --stash-only -e "$event" "$corpus/perfdata/$file" >ours.folded) ||
		fail "$file: cannot be exported"
	one_spelling <"$here/ours.folded" >"$here/ours"
	one_spelling <"$reference" >"$here/theirs"
	[ -s "$here/ours" ] || fail "$file: no stacks"
	diff "$here/theirs" "$here/ours" | grep '^[<>]' | sed "s,^,$file: ," >>"$here/differences" || true
	checked=$((checked + 1))
	echo "$file: $(wc -l <"$here/ours") stacks"
done
cd "$here"
grep -v '^#' "$SOURCE/tests/corpus/perf-data-stacks.txt" | LC_ALL=C sort >listed
LC_ALL=C sort differences | diff listed - >unlisted || fail "differences that are not listed, or listed and gone:
$(cat unlisted)"
[ $checked -ge 15 ] || fail "only $checked recordings were there"
