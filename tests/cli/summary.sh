# everything, one procedure, an image, and what is not there
culprit summary compute gone.prof || echo "status $?"
"$TOOLS/make-code-profile" x86 culprit.prof
culprit summary
echo
culprit summary compute culprit.prof --limit 2 --pipeline generic-in-order
echo
culprit summary -q -e cpu-clock --image '[kernel]' --limit 0
for mistake in nothing '--image nothing' '--pipeline nothing' '--isa z80'; do
	culprit summary $mistake || echo "status $?"
done
