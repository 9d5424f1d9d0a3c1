culprit doctor everything
