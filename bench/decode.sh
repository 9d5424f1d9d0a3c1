# Instructions decoded a second: for text, for flow, with effects; of libc, and with LONG_FORM=1 of gcc's
# cc1 (4.8 million instructions).
. "$SOURCE/tests/lib.sh"
code=
[ -z "${LONG_FORM:-}" ] || code=$(gcc -print-prog-name=cc1 2>/dev/null || true)
[ -f "$code" ] || code=$(ldd "$CULPRIT" | sed -n 's|.*libc\.so.* => \(/[^ ]*\).*|\1|p')
[ -f "$code" ] || skip "neither cc1 nor libc is found"
"$(dirname "$CULPRIT")/../../bench/bench-decode" "$code"
