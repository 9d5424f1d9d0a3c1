"$TOOLS/make-profile" empty p
culprit report p
