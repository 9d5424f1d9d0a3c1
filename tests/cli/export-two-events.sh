# Two events side by side, in the order asked for; an event without a row there is 0.
"$TOOLS/make-code-profile" x86 culprit.prof
culprit export -q -e cpu-clock,cycles -o both
cat both
culprit export -q -e cycles -e cpu-clock | tail -n 2
culprit export -q --addrs -e cycles
culprit export -q -e 'c*' | cmp - both || echo "in the profile's order"
# a file is replaced as a whole, or not at all
culprit export -q -e cpu-clock,cycles --samples -o both -e nothing && echo "an event that is not there"
[ "$(ls)" = "both
culprit.prof" ] || ls
culprit export -q -e cpu-clock -o /dev/stdout | wc -l
ln -s both link
culprit export -q -e cpu-clock -o link
[ -L link ]
wc -l both
# two counts come back as they were
culprit export -q -e cpu-clock,cycles culprit.prof -o both
culprit import -q both -o again.prof
culprit export -q -e before,after again.prof | cmp - both
