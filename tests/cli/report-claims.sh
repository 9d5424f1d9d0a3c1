# Files that claim one build-id or name are shown apart, and which others can write is told, in every
# form; adding up profiles, old ones too, joins none of them.
"$TOOLS/make-code-profile" claims p
"$TOOLS/make-code-profile" claims-before before
"$TOOLS/make-code-profile" claims-old old
culprit report p
culprit report p --by image --json | grep -E '"(image|writable_by|build_id)":'
culprit export -q -f csv p | cut -d, -f 15,17,18,24,30 | sort -u
culprit annotate work_hard p | head -n 2
culprit report p before old --by image | sed -n '/^cycles:u /,/^$/p'
echo "--- only the system's library is of a build that is known, by content or by build-id alone"
culprit diff -e cpu-clock before p | sed -n '/procedure$/,/^$/p'
culprit diff -e cpu-clock old p | sed -n '/procedure$/,/^$/p'
