# The kernel's code is kept as it ran, so that its procedures can be annotated, and with
# --redact it is not.
# beside others
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
work() {
	culprit record --quiet -F 2000 "$@" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/share/doc >/dev/null; done'
}
# hottest PROFILE SAMPLES: the kernel's hottest procedure that has so many, or nothing.
hottest() {
	culprit report --json "$1" | jq -r --argjson least "$2" \
		'[.rows[] | select(.image == "[kernel]" and .self[0].samples >= $least).procedure][0] // empty'
}
need_command jq
work -o kernel.prof
procedure=$(hottest kernel.prof 20)
[ -n "$procedure" ] || skip "no procedure of the kernel was sampled 20 times"
culprit annotate -i kernel.prof --image '[kernel]' "$procedure" >listing 2>messages ||
	fail "annotate: $(cat messages)"
if grep -q 'no code of this kernel procedure' listing; then
	skip "the kernel's text cannot be read here (CAP_BPF, Linux 5.14)"
fi
expect_match "instructions" "$(head -2 listing)" "[0-9]+ instructions"
# No byte of it makes no sense, but for padding: the code is where the samples are. One instruction
# may be newer than the disassembler; of code from another place many make no sense.
inside=$(awk '$1 ~ /^>?$/ || $1 ~ /^[0-9]+$/' listing | grep -c '\.byte' || true)
expect_between "undecodable instructions with samples" "$inside" 0 1
work --redact -o redacted.prof
procedure=$(hottest redacted.prof 1)
[ -n "$procedure" ] || fail "no procedure of the kernel in a redacted profile"
culprit annotate -i redacted.prof --image '[kernel]' "$procedure" >listing
expect_match "a redacted listing" "$(cat listing)" "the profile has no code of this kernel procedure"
expect_match "its samples" "$(cat listing)" "\(no code\)"
! grep -Eq 'movq|ldr' listing || fail "code is in a redacted profile"
