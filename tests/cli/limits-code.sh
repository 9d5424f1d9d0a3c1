# What code costs that a stranger's profile brings: as much as there is of it.
. "$SOURCE/tests/lib.sh"
make="$TOOLS/make-costly-file"
# runs between branches that reach over every procedure: each with each would be 64 times as many
$make runs 4000 few.prof
$make runs 32000 many.prof
few=$(cpu_ms timeout 60 culprit summary -q few.prof)
many=$(cpu_ms timeout 60 culprit summary -q many.prof)
expect_growth "summary of runs" "$few" "$many" 20
head -n 4 said
