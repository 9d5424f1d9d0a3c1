# What bursts of single steps told, and what they cost.
"$TOOLS/make-profile" stepped culprit.prof
culprit report | grep -E '^(bill|steps)'
culprit report --json | jq '.events[0].bill.stepped_samples, .events[0].bill.lost_samples, .collector.bursts'
"$TOOLS/make-profile" stepped other.prof
culprit db merge both.prof culprit.prof other.prof
culprit report both.prof | grep ^steps
