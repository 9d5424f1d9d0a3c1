"$TOOLS/make-profile" hostile p
# nothing that a terminal would obey
culprit report p
culprit report p --by process,cgroup | sed -n "/cum %/,/^$/p"
culprit report p --json | jq -c ".scope.hosts, [.rows[].procedure]"
