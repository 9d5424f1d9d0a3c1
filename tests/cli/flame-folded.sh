# The whole picture of a few stacks, without its style and script: frames, labels, hover
# texts, legend, scope and data. Names that look like markup stay text.
printf "app;main;<b>&\"x\" 30\napp;main;parse;read_[k];vfs_read_[k] 50\napp;main;</script> 20\n" >stacks
culprit flame stacks >picture.svg
sed -e '/^<style>/,/^]]><\/style>/d' -e '/^<script><!\[CDATA/,/^]]><\/script>/d' picture.svg
! command -v xmllint >/dev/null || xmllint --noout picture.svg
