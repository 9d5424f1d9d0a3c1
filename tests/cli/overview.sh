culprit --help | sed '/^  [a-z]/d' # the verbs' rows are checked by man-pages.sh
