# The kernel's code is kept as it ran, so that its procedures can be annotated, and with
# --redact it is not.
. "$SOURCE/tests/lib.sh"
need_cpu_sampling
work() {
	culprit record --quiet -F 2000 "$@" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do ls -lR /usr/share/doc >/dev/null; done'
}
work -o kernel.prof
# The hottest procedure of the kernel that has 20 samples or more.
culprit report --json kernel.prof >report.json
procedure=$(python3 - <<'P'
import json
for row in json.load(open("report.json"))["rows"]:
    if row["image"] == "[kernel]" and row["self"][0]["samples"] >= 20:
        print(row["procedure"])
        break
P
)
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
culprit annotate -i redacted.prof >listing 2>messages || true
! grep -Eq 'movq|ldr' listing || fail "code is in a redacted profile"
