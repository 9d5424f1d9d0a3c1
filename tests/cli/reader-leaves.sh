# `culprit ... | head` must end quietly.
culprit --help | head -n 1
