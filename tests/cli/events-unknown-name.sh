culprit events encode cylces
