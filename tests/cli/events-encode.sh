. "$SOURCE/tests/lib.sh"
# Whether an event opens differs by machine; all else does not.
culprit events encode cpu-clock:u '{page-faults,cs}:k' L1-dcache-load-misses:G \
	r01c2:p ref-cycles '{cs,minor-faults:S}' | hide '^  (here|PMU) .*' '  \1 ...'
