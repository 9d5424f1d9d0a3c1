culprit events page-fualts
