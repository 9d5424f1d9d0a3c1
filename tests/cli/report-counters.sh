"$TOOLS/make-profile" counters p
# two events with samples of their own: CPI with its interval, and a procedure without instructions
culprit report p
