culprit --version
