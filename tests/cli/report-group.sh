"$TOOLS/make-profile" group p
# instructions read with the samples of cycles: their own samples are absent
culprit report p --sort cpi
