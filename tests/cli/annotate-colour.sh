"$TOOLS/make-code-profile" x86 culprit.prof
culprit annotate compute -q -e cpu-clock --color always --min 20 | sed 's/\x1b/ESC/g'
