"$TOOLS/make-code-profile" x86 culprit.prof
culprit annotate compute -e cpu-clock --bytes -M intel --min 10 -q
