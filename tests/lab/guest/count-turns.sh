# Ten events on seven counters: how often the intervals of scaled counts hold the truth. 400 runs are
# the full form (LAB_TURNS=400), and take some minutes. An instruction takes 8 ns here, so that fewer
# of them fill the turns that events take.
# boots: slow
"$TOOLS/count-segments" turns "${LAB_TURNS:-60}" 500
