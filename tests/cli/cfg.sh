# A graph as picture, JSON and for Graphviz; the hottest without a name; what cannot be drawn.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit cfg compute | grep -E '<text|<svg|class="box' | sed 's/ [xy]="[0-9.]*"//g'
culprit cfg --json compute
culprit cfg --dot --limit 2
culprit cfg -o one.svg compute && culprit cfg compute | cmp - one.svg
culprit cfg --color cycles --instructions 2 -M intel compute | grep -cE 'more instructions|rbp'
"$TOOLS/make-code-profile" arm64 arm.prof
culprit cfg -i arm.prof | grep -E '<text.*(ldr|cbz|bl) '
# XML, although a relative figure may be "<0.001"
python3 -c 'import sys, xml.dom.minidom as xml; xml.parse(sys.argv[1])' one.svg
# what a pointer over a block shows: intervals where there are some
culprit cfg compute | grep -m 1 -A 1 '<title>executions' | sed 's/<rect.*//'
"$TOOLS/make-code-profile" counted counted.prof
culprit cfg compute counted.prof | grep -m 1 -A 2 '<title>executions' | sed 's/<rect.*//'
mistake() {
	culprit cfg "$@" 2>&1 && echo "not refused: $*"
	echo "status $?"
}
mistake step
mistake nobody
echo text >notes; mistake notes
mistake vfs_read
mistake --image gone
mistake --json --dot
mistake --color red -i missing
mistake --color cpi compute # whose costs are relative
mistake -M masm
mistake --pipeline none
