# beside others
# Each kind of helper process, seen from outside: confined by a filter, with the capabilities, limits
# and descriptors that it needs and no more.
. "$SOURCE/tests/lib.sh"

"$TOOLS/helper-rights" >out && status=0 || status=$?
grep -q 'no filter of system calls' out && skip "this kernel has no seccomp"
expect_equal "exit status ($(grep -B 1 'NOT CONFINED' out))" "$status" 0
expect_equal "helpers" "$(grep -c '^culprit-' out)" 7
expect_equal "those under a filter" "$(grep -c '^  Seccomp:	2' out)" 7
expect_equal "those without new privileges" "$(grep -c '^  NoNewPrivs:	1' out)" 7
expect_equal "those that cannot fork" "$(grep -cE '^  Max processes +0 +0 ' out)" 7
# cap_dac_read_search, cap_sys_ptrace, cap_checkpoint_restore, of who opens and who steps
expect_equal "those with other capabilities" \
	"$(grep '^  CapEff:' out | grep -cvE '	(0{16}|00000[01]00000[08]000[04])$' || true)" 0
expect_match "those without any" "$(grep -c '^  CapEff:	0*$' out)" '^[567]$'
expect_equal "descriptors" "$(grep '^  descriptor' out | sort | uniq -c | tr -s ' ' | tr '\n' ';')" \
	"$(printf ' 7 descriptor %s;' '0: /dev/null' '1: /dev/null' '2: /dev/null' '3: socket'; printf ' 1 descriptor 4: anon_inode;')"
