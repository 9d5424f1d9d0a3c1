# Executions of blocks, with what an estimate has besides; a procedure without code is no block.
"$TOOLS/make-code-profile" x86 code.prof
culprit export -f pixie code.prof
"$TOOLS/make-code-profile" arm64 arm.prof
culprit export -f pixie arm.prof
# nothing was sampled that says where time went
printf 'a;b 1\n' >stacks
culprit export -f pixie stacks || echo "status $?"
