# A file by name, a page by its name's end, standard output, an icicle, no picture without profile.
printf "main;a 30\nmain;b 10\n" >stacks
culprit flame -o picture.svg stacks && head -c 38 picture.svg && echo
culprit flame -o page.html stacks && head -n 1 page.html && tail -n 2 page.html
culprit flame --html - <stacks | head -n 1
culprit flame --title 'a < b' --subtitle 'of & for' stacks | sed -n '/id="title"/,/^<.text>/p'
culprit flame --icicle --no-comm --width 420 stacks | sed -n '/<g id="frames">/,/<.g>/p'
culprit flame --min-width 400 stacks | sed -n '/id="subtitle"/,/^<.text>/p'
culprit flame --reverse stacks | sed -n 's/.*<title>\(.*\)<.title>.*/\1/p'
culprit flame nothing.prof || echo "status $?"
# an earlier file stays as it is until the new one takes its place
echo earlier >earlier.svg
ln earlier.svg kept
culprit flame -o earlier.svg stacks && head -c 38 earlier.svg && echo && cat kept
