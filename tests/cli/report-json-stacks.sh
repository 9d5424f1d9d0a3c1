"$TOOLS/make-profile" stacks p
culprit report p --callees walk --json | jq -c "[.rows[] | [.depth, .procedure, .inclusive[0].samples, .self[0].samples]]"
culprit report p --inclusive --json | jq -c ".stacks, .resolution"
