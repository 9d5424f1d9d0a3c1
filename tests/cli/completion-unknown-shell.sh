culprit completion fish
