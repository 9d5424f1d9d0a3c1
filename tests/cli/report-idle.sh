# Busy time without a sample, and what of it were the clock's own interrupts while CPUs were idle.
"$TOOLS/make-profile" idle culprit.prof
culprit report | grep -E '^(bill|collector)'
culprit report --json | jq -c '.events[0].bill | [.shortfall_ns, .idle_interrupts, .idle_interrupt_ns, .idle_interrupt_low_ns, .idle_interrupt_high_ns]'
culprit report --json | jq .collector.idle_interrupt_ns
# A clock that never met an idle CPU, and recordings that did not say.
"$TOOLS/make-profile" clock other.prof
culprit report other.prof | grep -E '^(bill|collector)'
culprit db merge both.prof culprit.prof other.prof
culprit report both.prof | grep -E '^(bill|collector)'
