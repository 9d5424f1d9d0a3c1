# Each instruction of a program has the stack that its calls made, on arm64. Without time that is
# counted in instructions, a step is taken thousands of times in vain: the timer's interrupt comes first.
exec "$UNIT/test_stack_walk"
