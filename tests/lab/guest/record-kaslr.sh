# The whole machine, kernel and modules, at two boots' addresses: tests/lab/host/record-kaslr.sh
# compares what the boots leave.
# boots: exact again
. "$LIB"
# Reading over 9p and virtio runs code of modules.
work='i=0; while [ $i -lt 40 ]; do cat "$CULPRIT" >/tmp/copy; i=$((i + 1)); done'
culprit record -a -e cycles -c 100003 -o "$OUT/kaslr.prof" -- sh -c "$work"
"$TOOLS/cells" "$OUT/kaslr.prof" >cells
awk -F '\t' '$1 == "cell" { n[$3] += $6 } END { for (kind in n) print kind, n[kind] }' cells
grep -q "^cell	cycles	kernel" cells || fail "no sample in the kernel"
grep -q "^cell	cycles	module" cells || fail "no sample in a module"
grep -m 1 -w _stext /proc/kallsyms >"$OUT/kaslr.base"
