# What interpreting samples told, and what it cost.
"$TOOLS/make-profile" interpreted culprit.prof
culprit report | grep -E '^(branches|collector)'
culprit report --json | jq '.events[0].bill.interpreted, .collector.interpret_ns'
"$TOOLS/make-profile" interpreted other.prof
culprit db merge both.prof culprit.prof other.prof
culprit report both.prof | grep ^branches
