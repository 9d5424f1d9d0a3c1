# Stacks that break in code without frame pointers: how many, whose code, and the cure; 480 of 1000
# are whole, those of kernel threads are nobody's.
"$TOOLS/make-profile" broken culprit.prof
culprit report --inclusive | sed -n '/^stacks/,/^names/p'
culprit report | grep -A1 ^stacks
culprit report --json | jq .stacks
culprit flame -o - | grep -o '[0-9.]* % of stacks[^<]*'
# nothing is said where all are whole
"$TOOLS/make-profile" efficiency whole.prof
culprit report whole.prof --inclusive | grep -c ^stacks || true
culprit report --json whole.prof | jq -c .stacks
# nor of other tools' stacks, which come from where they please
printf 'app;[unknown];work 5\n' >folded
culprit report --json folded | jq -c .stacks
