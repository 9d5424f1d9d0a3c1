"$TOOLS/make-code-profile" x86 culprit.prof
culprit annotate compute
