"$TOOLS/make-code-profile" arm64 culprit.prof
culprit annotate turn
