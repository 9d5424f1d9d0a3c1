"$TOOLS/make-profile" clock p
# dim: fewer than 25 samples
culprit report p --color always | grep -E "rarely|make" | cat -v
NO_COLOR= culprit report p | grep -c "$(printf "\\033")" || true
