# What names cost that a stranger chose and the user's --focus meets: as much as they are long.
. "$SOURCE/tests/lib.sh"
make="$TOOLS/make-costly-file"
# a search that begins again at each byte takes 16 times as long for a name of four times the bytes
$make folded-long 20000 short.folded.gz
$make folded-long 80000 long.folded.gz
for pattern in '.*alloc' '[a-z]+_free' 'a*b|a*c'; do
	short=$(cpu_ms timeout 60 culprit report -q --focus "$pattern" short.folded.gz)
	long=$(cpu_ms timeout 60 culprit report -q --focus "$pattern" long.folded.gz)
	expect_growth "report --focus '$pattern'" "$short" "$long" 8
	cat said
done
# brackets in brackets: looked for once, not at each of them
$make folded-brackets 3 few.folded.gz
$make folded-brackets 60 many.folded.gz
few=$(cpu_ms timeout 60 culprit report -q --focus work few.folded.gz)
many=$(cpu_ms timeout 60 culprit report -q --focus work many.folded.gz)
expect_growth "report --focus work" "$few" "$many" 1.5
# what was anchored for that still means what it meant
$make folded-names 4 names.folded.gz
for pattern in '^aa$' 'aa|^m' '^a?a$|b)' '[])]|aaa' '(a)(a)\2' '\1' '('; do
	printf '# %s\n' "$pattern"
	culprit report -q --focus "$pattern" names.folded.gz 2>&1 || echo "status $?"
done
