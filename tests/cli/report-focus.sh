"$TOOLS/make-profile" stacks p
# shares stay shares of the whole
culprit report p --focus "^ev" | sed -n "/^percent/,/^$/p; /cum %/,/^$/p"
culprit report p --inclusive --ignore "walk|lonely" | sed -n "/^percent/,/^$/p; /total %/,/^$/p"
