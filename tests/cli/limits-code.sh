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
# loops in one another, each of which was followed through all of its blocks, 32 times: four times
# as many would take 64 times as long, and did take 110 times
$make ladder 120 few.prof
$make ladder 480 many.prof
few=$(cpu_ms timeout 60 culprit summary -q few.prof)
many=$(cpu_ms timeout 60 culprit summary -q many.prof)
expect_growth "summary of loops" "$few" "$many" 40
# and what is left out beyond that, of all procedures together, is said
$make ladders 60 many.prof
culprit summary many.prof 2>&1 >page | grep loops
