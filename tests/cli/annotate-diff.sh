# two versions of a procedure: one build, the same code elsewhere, other code, another name
for kind in x86 x86-moved x86-changed x86-renamed; do
	"$TOOLS/make-code-profile" $kind $kind
done
culprit annotate compute x86 --diff x86 -q --min 10
culprit annotate compute x86-moved --diff x86 -q -e cpu-clock --min 10
culprit annotate compute x86-changed --diff x86 -q -e cpu-clock
culprit annotate calculate x86-renamed --diff x86 -q -e cpu-clock --min 50
culprit annotate calculate x86-renamed --diff x86-changed -q -e cpu-clock --min 50
# without names of addresses, by name alone
printf 'main;f 100\nmain;g 50\n' >before
printf 'main;f 130\nmain;g 50\n' >after
culprit annotate f after --diff before -q --counts samples
culprit annotate f after --diff before -q | sed -n '/^samples/p'
for wrong in '--per tick' '--per second' '--source' '--bytes' '--counts all'; do
	culprit annotate f after --diff before $wrong -q 2>&1 || echo "status $?"
done
culprit annotate f after --per raw 2>&1 || echo "status $?"
culprit annotate f after --base-until 2h 2>&1 || echo "status $?"
culprit annotate f after --diff nothing 2>&1 || echo "status $?"
culprit annotate compute x86 --diff before -q 2>&1 || echo "status $?"
# without a procedure: what changed most
culprit annotate --diff x86 -i x86-changed -q -e cpu-clock --limit 2 | sed -n '/^[^ ]* in program$/p'
