# Runs with code: why a procedure costs more in one of them. The loop is that of Figure 2 of Anderson
# et al., SOSP 1997, and waits half as long again at one store in the third run.
"$TOOLS/make-code-profile" copy 1.prof
"$TOOLS/make-code-profile" copy 2.prof
"$TOOLS/make-code-profile" copy-slower 3.prof
culprit spread 1.prof 2.prof 3.prof
echo
culprit spread --json 1.prof 2.prof 3.prof | sed -n '/"compared"/,$p'
echo
echo "by image, of another event, and of runs that are alike"
culprit spread --by image 1.prof 2.prof 3.prof | sed -n '/^runs/,/^\*/p'
"$TOOLS/make-code-profile" x86 4.prof
culprit spread --causes 1 4.prof 4.prof | sed -n '/^runs/,/^\*/p'
