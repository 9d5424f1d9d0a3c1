# Samples that find no room are counted to the last one, and a rate above the kernel's limit is
# said, not absorbed.
# boots: exact exact-6.12
. "$LIB"
bill_of() { # ITEM
	awk -F '\t' -v item="$1" '$1 == "bill" && $4 == item { sum += $5; seen = 1 } END { if (seen) print sum }' cells
}

# A ring of one page, which nobody empties in time: we are as patient as can be, the program
# is not. 60 million cycles at 20000 a sample.
nice -n 19 culprit record -u -e cycles -c 20000 --mmap-pages 1 -o loss.prof -- \
	nice -n -39 "$KERNELS/two_loops" 2>said || { cat said; fail "record failed"; }
cat said
"$TOOLS/cells" loss.prof >cells
stored=$(bill_of stored)
lost=$(bill_of lost_ring)
echo "$stored stored, $lost lost"
expect_between "lost samples" "$lost" 100 3100
# what ran before the loops is some thousand instructions
expect_between "stored and lost samples" $((stored + lost)) 3000 3060
expect_equal "runs" "$(bill_of runs)" $((stored + lost))
expect_match "what was said" "$(cat said)" "$lost samples were lost"

culprit record -u -e cycles -c 1000 -o throttled.prof -- "$KERNELS/two_loops" 2>said
cat said
"$TOOLS/cells" throttled.prof >cells
expect_between "times that the kernel stopped the event" "$(bill_of throttled)" 1 100000
expect_match "what was said" "$(cat said)" "the kernel stopped events [0-9]+ times for their rate"
