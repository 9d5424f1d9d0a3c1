printf 'a;b 1\nTHIS IS A BAD LINE\n\n# a comment\na;c 2.5\r\n12V.43\n' >in.folded
culprit import in.folded -o out.prof
ls out.prof*
culprit import - <in.folded
ls culprit.prof*
