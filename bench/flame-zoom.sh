# How long a zoom among 50 000 frames takes until it is painted, in headless
# chromium without a graphics card; the median stays below 100 ms.
. "$SOURCE/tests/lib.sh"
"$SOURCE/tests/browser/suite" --bench >said
if grep -q '^1\.\.0' said; then
	skip "$(sed -n 's/^1\.\.0 # SKIP //p' said)"
fi
echo "machine: $(uname -srm), $(nproc) CPUs"
sed -n 's/^# //p' said
! grep '^not ok' said || exit 1
