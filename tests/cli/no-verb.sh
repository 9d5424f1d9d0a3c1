culprit
