# names: exact, linkage, without parameters, a part; an address; what is ambiguous
"$TOOLS/make-code-profile" x86 culprit.prof
head_of() {
	culprit annotate "$@" -q | head -n 1
}
head_of helper
head_of _ZN2ns4stepEd
head_of 'ns::step(int)'
head_of elpe
head_of 'program+0x1012'
head_of 'program+0x1200'
head_of 'libgone.so+0x7000'
head_of compute
echo text >notes
for name in ns::step e missing notes 'program+0x9999' 0x1012; do
	culprit annotate "$name" -q && echo "not refused: $name"
	echo "status $?"
done 2>&1
culprit annotate compute -q -e nothing 2>&1 || echo "status $?"
culprit annotate compute -q --isa vax 2>&1 || echo "status $?"
culprit annotate compute -q --min 101 2>&1 || echo "status $?"
culprit annotate compute -q -M latin 2>&1 || echo "status $?"
culprit annotate compute -q --image other 2>&1 || echo "status $?"
culprit annotate compute missing.prof 2>&1 || echo "status $?"
# a profile is one wherever it stands
mv culprit.prof other.prof
head_of other.prof
head_of compute other.prof
head_of other.prof compute
head_of - <other.prof
mkfifo pipe
cat other.prof >pipe &
head_of pipe compute
rm pipe
culprit cfg other.prof compute | cksum >last
culprit cfg compute other.prof | cksum | cmp - last
culprit annotate other.prof missing -q 2>&1 || echo "status $?"
culprit annotate missing.prof -q 2>&1 || echo "status $?"
