# One database before and since a moment: an epoch from 22:13:20 to 22:13:30, one from 23:13:20 to
# 23:13:40.
mkdir -p db/web7 db/web8
"$TOOLS/make-profile" watch-before db/web7/20231114T221320Z.prof
"$TOOLS/make-profile" watch-after db/web7/20231114T231320Z.prof
sides() { sed -n '/^total/p;/^[*] *[0-9]/p;/^recorded/s/, 2.*//p' "$@"; }
echo "== between the two"
culprit diff --since 2023-11-14T22:30 db | sides
echo "== each moment of another epoch: as the epochs say, by name, and before what is asked"
culprit diff --since '2023-11-15 00:13:20 +0100' db | sides
culprit diff --since 20231114T221330Z db | sides
culprit diff --since @1700003600 --base-since 20231114 --until now --host web7 db | sides
for mistake in "--since 2023-11-14T22:13:25" "--since 2023-11-14T23:13:21" "--since 2023-11-14T23:13:40" \
	"--since 2023-11-14T22:13:20" "--since 2023-11-14T22:30 --host web8" \
	"--since 2023-11-14T22:30 --until 2023-11-14T23:00" "--since tomorrow" "--base-since noon" \
	"--since 2023-11-14T22:30 --base-since 2023-11-14T22:31"; do
	echo "== $mistake"
	culprit diff $mistake db 2>&1 || echo "status $?"
done
echo "== a base that is chosen is what was chosen"
culprit diff --base-until 2023-11-14T23:14 --since 2023-11-14T23:00 db | sed -n /^total/p
culprit diff --since 2023-11-14T22:30 db db | sed -n /^total/p
echo "== no database is parted"
culprit diff --since 2h db/web7/20231114T221320Z.prof 2>&1 || echo "status $?"
"$TOOLS/make-profile" watch-before db/web8/20231114T221320Z.prof
"$TOOLS/make-profile" watch-after db/web8/20231114T231320Z.prof
echo "== with flame, and with annotate"
culprit flame --diff db --since 2023-11-14T22:30 --host web8 | sed -n 's/.*<title>\(crunch.*before.*after.*\)<.title>.*/\1/p'
culprit flame --diff db --since 2023-11-14T22:30 --host web8 db >explicit
culprit flame --diff db --since 2023-11-14T22:30 --host web8 | cmp -s - explicit || echo "explicit: another base"
culprit flame --diff db --base-epoch 20231114T221320Z --epoch 20231114T231320Z --base-host web8 --host web8 |
	sed -n 's/.*<title>\(crunch.*before.*after.*\)<.title>.*/\1/p'
culprit flame --diff db --since 2023-11-14T22:13:25 2>&1 >unwritten || echo "status $?"
culprit flame --diff db 2>&1 >unwritten || echo "status $?"
culprit annotate --diff db --since 2023-11-14T22:30 --host web8 crunch 2>/dev/null | sed -n '/^cpu-clock:/p'
echo "== times of now, in zones that are a day apart: these epochs are long past"
for zone in UTC0 "<+14>-14" "<-12>12"; do
	for time in now today yesterday "yesterday 14:00" "today 9:30" "3 days ago" 2h; do
		TZ=$zone culprit diff --since "$time" db 2>&1 || echo "status $?"
		TZ=$zone culprit diff --base-since 2023-01-01 --base-until "$time" --since 2023-11-14T23:00 --host web8 \
			--base-host web8 db | sed -n '/^total/p'
	done
done | sort | uniq -c | sed 's/^ *//'
