# The unit tests and the fuzz targets' seeds, on arm64: without $LAB_ALL those of what differs there,
# the processor and the kernel ($UNIT/here, which the suite writes), and of them the quick ones.
# Those in which something has to happen within a time run where time is counted in instructions: helpers
# start, bursts end, a step comes before the timer's interrupt, whatever else the machine does that
# emulates this one. The others run where there are two CPUs, and with $LAB_ALL nearly all do.
# boots: plain exact

# Simulations, random graphs, sweeps of whole libraries, changes of every byte of a file:
# they test arithmetic and parsing, which are the same here, and take minutes in emulation, or read
# figures of tests/data, which is not in this machine.
long="test_weight test_interval test_difference test_compare test_profile_file test_epoch test_crash test_import_formats replay_profile_file
	test_closing test_collect_edge_window test_flow_classes test_flow_loops test_flow_search
	test_flow_likelihood test_frequency test_sparse_ldl test_cfg test_isa_effects test_isa_transfer
	test_isa_effects_execute test_cfg_compiled
	test_flow_posterior test_simulated_accuracy test_simulated_culprits test_simulated_machine
	test_simulated_runs test_run_summary test_topdown_counts test_count_slices test_count_region_interval
	test_database test_export_formats test_jit_timeline test_collect_jit_hostile test_cycles
	test_collect_turn_time"
[ -n "${LAB_ALL:-}" ] || long="$long test_recorder test_collect_session_shares test_collect_still_used
	test_collect_generation test_frame_pool test_machine_slices test_count_region_threads
	$(cd "$UNIT" && ls | grep -E '^(test|replay)_' | grep -vxFf here)"
# These judge how long something takes: nothing runs beside them.
alone="test_import_perf_events test_recorder"
# Of these the seeds alone.
long_by_changes="replay_import replay_import_perf_data replay_cycles replay_dwarf replay_elf"

# A program that takes over 10 s on a quiet machine belongs above, or is made shorter: what
# took longer than that is named, whatever came of it.
most_seconds=300
export SLOW_CPU=1 # for test_recorder

is_here() { # NAME
	case $1 in
	test_stack_walk | test_collect_edges_helpers) [ "$LAB_BOOT" = exact ] ;;
	test_collect_* | test_count_* | test_user_stack | test_sample_*)
		[ "$LAB_BOOT" = exact ] || [ -n "${LAB_ALL:-}" ]
		;;
	*) [ "$LAB_BOOT" = plain ] ;;
	esac
}
# One of as many lanes as there are CPUs, at most two: every second program.
lanes=$(nproc)
lane() { # 0 or 1
	failed=0
	turn=0
	for program in "$UNIT"/test_* "$UNIT"/replay_*; do
		name=$(basename "$program")
		is_here "$name" || continue
		case " $(echo $long $alone) " in *" $name "*) continue ;; esac
		[ "$lanes" = 1 ] || turn=$((1 - turn))
		[ $turn = "$1" ] || continue
		case $name in
		replay_*)
			case " $long_by_changes " in *" $name "*) only=seeds-only ;; *) only= ;; esac
			run "$program" "$UNIT/seeds/${name#replay_}" $only
			;;
		*) run "$program" ;;
		esac
	done
	exit $failed
}
run() { # COMMAND
	started=$(date +%s)
	status=0
	timeout $most_seconds "$@" >"log$turn" 2>&1 || status=$?
	took=$(($(date +%s) - started))
	[ $took -le 10 ] || echo "$(basename "$1") took $took s"
	case $status in 0 | 77) return ;; esac # 77: skipped
	cat "log$turn"
	case $status in
	124) echo "$(basename "$1") did not end within $most_seconds s" ;;
	*) echo "$(basename "$1") failed: exit status $status" ;;
	esac
	failed=1
}
failed=0
turn=0
for name in $alone; do
	is_here "$name" || continue
	case " $(echo $long) " in *" $name "*) continue ;; esac
	run "$UNIT/$name"
done
status=$failed
lane 0 &
other=$!
[ "$lanes" = 1 ] || (lane 1) || status=1
wait $other || status=1
exit $status
