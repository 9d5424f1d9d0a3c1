# without a procedure the hottest ones, each with the reason when there is no code
"$TOOLS/make-code-profile" x86 culprit.prof
culprit annotate -e cpu-clock --limit 4 --min 1
culprit annotate -e cpu-clock --limit 1 --image '[kernel]' -q
