"$TOOLS/make-code-profile" x86 culprit.prof
mkdir src
for line in $(seq 1 25); do printf '\tline %s;\033[31m\r\n' $line; done >src/compute.c
# by line, then between the instructions, then without
culprit annotate compute -q -e cpu-clock --source-root . --source
culprit annotate compute -q -e cpu-clock --source-root . | grep -A1 'line 8;'
culprit annotate compute -q -e cpu-clock --source-root . --no-source | grep -c 'line 8;' || :
