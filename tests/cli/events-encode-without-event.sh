culprit events encode
