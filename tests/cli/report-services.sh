"$TOOLS/make-profile" groups p
for part in service container process,service cgroup; do
	echo "== $part"
	culprit report p --by $part | sed -n "/cum %/,/^$/p; /^note/p"
done
for filter in "--service web" "--service web.service" "--service *web*" "--container 012345" \
	"--container old*" "--service shop --service web" "--service web --container old*" "--service w --json" \
	"--container 01234"; do
	echo "== $filter"
	(set -f; culprit report p $filter --by service,container 2>&1) | sed -n "/^percent/p; /cum %/,/^$/p; /^culprit/p"
done
culprit report p --json --by service,container | jq -c ".rows[] | [.service, .container]"
"$TOOLS/make-profile" clock q
for part in service container; do
	culprit report q --by $part | sed -n "/cum %/,/^$/p; /^note/p"
done
