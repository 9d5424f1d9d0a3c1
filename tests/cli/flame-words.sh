# What a picture says of itself: its scope, both sides of a frame, its legend and title where
# there is little room.
subtitle() { sed -n '/id="subtitle"/,/^<.text>/p'; }
hovers() { sed -n 's/.*data-i.*<title>\(.*\)<.title>.*/\1/p'; }
events() { # NAME CYCLES INSTRUCTIONS, in samples
	for event in cycles:$2 instructions:$3; do
		i=0
		while [ $i -lt "${event#*:}" ]; do
			printf 'app  10/10 1.%06d:       1000 %s:\n\t    1001 %s (/bin/app)\n\t    1000 main (/bin/app)\n\n' $i "${event%:*}" "$1"
			i=$((i + 1))
		done
	done
}
# a change of cycles as what instructions and what CPI cost
events work 40 80 >before
events work 90 90 >after
culprit flame --diff before after | hovers
# of two lengths the base is scaled, and the frame says from what
"$TOOLS/make-profile" watch-before before.prof
"$TOOLS/make-profile" watch-after after.prof
culprit flame --diff before.prof after.prof >watched.svg
subtitle <watched.svg
hovers <watched.svg | head -n 2
# what has none of the width, no stacks on one side, no stacks at all, and losses
{
	events a 2 2
	events b 0 3
} >mixed
culprit flame mixed | subtitle
printf 'app  10/10 1.0: 1 cycles:\n\t1001 a (/bin/app)\n\t1000 main (/bin/app)\n\n' >stacks
printf 'app 10/10 1.0: 1 cycles: 1001 a (/bin/app)\n' >leaves
culprit flame --diff stacks leaves | subtitle
culprit flame leaves >towers.svg
subtitle <towers.svg
sed -n 's/.*class="\(.*\)" data-i.*<title>\([^:]*\):.*/\2: \1/p' towers.svg
"$TOOLS/make-profile" clock lossy.prof
culprit flame lossy.prof | subtitle
# a legend of little room, a title of none, names that do not fit
culprit flame --width 420 --color cpi after | sed -n '/id="legend"/,/<\/g>/s/.*class="words">\(.*\)<.text>/\1/p'
culprit flame --title "$(printf '%060d' 0)" --width 420 stacks | sed -n 's/<text id="title"[^>]*>//p'
culprit flame --title "$(printf '%030d' 0)" --width 420 stacks | sed -n 's/<text id="title"[^>]*>//p'
printf 'ab 40\nabcdefghijklmnopqrstuvwxyz 60\nmain 80\nmöööööööööööööö 100\n' >names
culprit flame --width 300 --no-comm --color none names | sed -n '/id="labels"/,/<\/g>/p'
