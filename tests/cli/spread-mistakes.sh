"$TOOLS/make-profile" watch-before a.prof
"$TOOLS/make-profile" watch-after b.prof
for mistake in '' 'a.prof' '--sort cost a.prof b.prof' '--per work a.prof b.prof' '--counts all a.prof b.prof' \
	'--by address a.prof b.prof' '--inclusive --by image a.prof b.prof' '--min 101 a.prof b.prof' \
	'-e nothing a.prof b.prof' '--host web7 a.prof b.prof' 'a.prof missing.prof' '--causes 5000000000 a.prof b.prof'; do
	culprit spread $mistake 2>&1 || echo "status $?"
done
