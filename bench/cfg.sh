# Flow graphs and classes of whole programs, a quarter, a half and all of their functions: of gcc's
# cc1 (4.9 million instructions) where it is, else of libc.
. "$SOURCE/tests/lib.sh"
code=$(gcc -print-prog-name=cc1 2>/dev/null || true)
[ -f "$code" ] || code=$(ldd "$CULPRIT" | sed -n 's|.*libc\.so.* => \(/[^ ]*\).*|\1|p')
[ -f "$code" ] || skip "neither cc1 nor libc is found"
"$(dirname "$CULPRIT")/../../bench/bench-cfg" "$code"
