mkdir empty
for arguments in "" "frob" "list" "list empty" "merge out" "merge out nowhere.prof" "merge empty empty" \
	"list empty --since tomorrow" "list empty --since yesterday"; do
	status=0
	# shellcheck disable=SC2086
	culprit db $arguments || status=$?
	echo "db $arguments: status $status"
done
culprit check || echo "check: status $?"
culprit check --save x a b || echo "check: status $?"
