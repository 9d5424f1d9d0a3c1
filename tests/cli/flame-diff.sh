# VT200's examples: 315 804 cycles before, 199 904 after, of a total after of 1 000 000, are
# -36.70 % against before and -11.59 % "global"; 200 and 100 are -50 % and -100 %.
hovers() { sed -n 's/.*<title>\(.*before.*after.*\)<.title>.*/\1/p'; }
printf "main;pixelLogLikelihood 315804\nmain;rest 800096\n" >before
printf "main;pixelLogLikelihood 199904\nmain;rest 800096\n" >after
culprit flame --diff before after | hovers
printf "main 200\n" >two
printf "main 100\n" >one
culprit flame --diff two one | hovers
# what is on one side only is in sight, in both directions, within its parent
printf "main;kept 60\nmain;gone;deep 40\n" >old
printf "main;kept 90\nmain;new 10\n" >new
frames() { sed -n 's/<rect x="\([^"]*\)".* width="\([^"]*\)".* class="\([^"]*\)" data-i.*<title>\([^:]*\):.*/\4 at \1, \2 wide, \3/p'; }
culprit flame --diff old new | frames
culprit flame --diff old --inverse-diff new >inverse
frames <inverse
sed -n '/id="subtitle"/,/^<.text>/p' inverse
# per total, with the reason why not
culprit flame --diff two --per total one | sed -n '/id="subtitle"/,/^<.text>/p'
# counts that are samples: what may be chance is hatched
culprit flame --diff two --counts samples one | hovers
printf "main;a 30\nmain;b 20\n" >few
printf "main;a 33\nmain;b 19\n" >again
culprit flame --diff few --counts samples again | frames
# counts of other decimals are the same counts
printf "main;a 1.5\nmain;b 2\n" >fine
printf "main;a 3\nmain;b 2\n" >coarse
culprit flame --diff fine coarse | hovers
culprit flame --diff coarse fine | hovers
# the data beside it
culprit flame --diff old new | sed -n '/"change":{/,/"count":/p'
# two epochs of one database
mkdir -p db/web7
"$TOOLS/make-profile" watch-before db/web7/20231114T221320Z.prof
"$TOOLS/make-profile" watch-after db/web7/20231114T231320Z.prof
culprit flame --diff db --base-until 2023-11-14T22:30 --since 2023-11-14T23:00 db | hovers | head -n 2
culprit flame --diff db --base-epoch 20231114T221320Z --epoch 20231114T221320Z db | hovers | head -n 1
culprit flame --base-since 2h old || echo "status $?"
culprit flame --diff db --base-since noon db || echo "status $?"
culprit flame --diff old --base-host web7 new || echo "status $?"
culprit flame --per raw old || echo "status $?"
culprit flame --diff old --per nothing new || echo "status $?"
# two counts a line are both sides; with the colours of 2014 as the scripts give them
printf "main;a 10 20\nmain;b 30 20\n" >both
culprit flame both | hovers
culprit flame --scale gregg both | sed -n 's/.*fill="\(rgb[^"]*\)".*<title>\([^:]*\):.*/\2 \1/p'
