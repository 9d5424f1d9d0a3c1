"$TOOLS/make-code-profile" kernel culprit.prof
# the clock's samples behind sti waited for it; those of cycles came by an interrupt that does not
culprit report | grep -E "late"
culprit report --event cycles:u | grep -c late || true
culprit report --json | grep -A 12 '"late":'
culprit annotate do_syscall_64 | grep -E "late|sti"
culprit annotate do_syscall_64 --json | grep late
culprit diff culprit.prof culprit.prof | grep -c '(late)' || true
