printf 'main;read 2.5\nmain 4\n' | culprit import -q -
culprit annotate read
