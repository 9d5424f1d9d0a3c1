# Mistakes in the options: one line each, and nothing runs.
say() {
	echo "\$ culprit stat $*"
	status=0
	culprit stat "$@" 2>&1 || status=$?
	echo "-> $status"
}
say
say -u -k touch ran
say -a -p 1
say -C 0 -t 1
say -C none
say -p twelve
say --per-thread touch ran
say --per-core touch ran
say -a --per-core --per-cpu
say -I soon touch ran
say -I 0 touch ran
say -D -1 touch ran
say --duration 0s touch ran
say --timeout 5 --duration 5s touch ran
say --control here touch ran
say --control fd:nine touch ran
say --control fd:99 touch ran
say --control fifo:/no/such touch ran
say -n -e cycles touch ran
say -e cylces touch ran
say -M ipx touch ran
say -M 'page-faults/' touch ran
say -M '(page-faults' touch ran
say --topdown=3 touch ran
say --json -x , touch ran
say --csv -x , touch ran
say -x '' touch ran
say --append touch ran
say -r 0 touch ran
say -r many touch ran
say -r 2 -I 10 touch ran
say -r 2 -p 1
say --warmup 1 touch ran
say --cmd 'touch ran' touch ran
say --cmd 'touch ran' -a
say --cmd ' ' --cmd true
say --cmd true -r 3
ls
