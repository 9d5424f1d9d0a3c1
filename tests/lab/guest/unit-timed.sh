# Unit tests on arm64 in which something has to happen within a time, whatever else the machine that
# emulates this one does: helpers start within a second, bursts of steps end, a step comes before the
# timer's interrupt. Time is counted in instructions here.
# Each instruction of a program has the stack that its calls made; and BPF programs have to be loaded,
# which newer kernels than this one allow more of.
status=0
for test in test_stack_walk test_collect_collector_bursts test_collect_edges test_collect_edges_helpers \
	test_collect_step test_user_stack test_sample_table; do
	"$UNIT/$test" >log 2>&1 && continue
	cat log
	echo "$test failed"
	status=1
done
exit $status
