# What a table says below it of the rows that it has not: the options it names show them all, and with
# one of them less some are still missing.
python3 - <<'END'
for run in range(4):
    with open("run%d.folded" % run, "w") as out:
        for i in range(6):
            out.write("program;work%d %d\n" % (i, 100 - 10 * i + run))
        for i in range(3):
            out.write("program;tiny%d %d\n" % (i, 1 + i))
END
hint() { grep -o '[0-9]* more rows*; [^)]*' || :; }
look() {
	for left in '--limit 2' '--min 5' '--min 5 --limit 2' '--min 5 --limit 6' '--min 5 --limit 9' '--min 50 --limit 2'; do
		"$@" $left >page
		said=$(hint <page)
		shows=${said#*; }
		"$@" $left ${shows% shows all} | hint >still
		echo "$left: $said${said:+, and then }$(cat still)"
	done
}
for verb in 'report run0.folded' 'diff --counts samples run0.folded run1.folded' \
	'diff --counts samples --inclusive run0.folded run1.folded' \
	'diff --counts samples run0.folded run1.folded -- run2.folded run3.folded' \
	'spread --counts samples run0.folded run1.folded run2.folded' \
	'spread --counts samples --inclusive run0.folded run1.folded run2.folded'; do
	echo "$verb"
	look culprit $verb
done
# the negative control: of two options that it names neither is enough
culprit spread --counts samples run?.folded --min 5 --limit 2 --min 0 | hint
culprit spread --counts samples run?.folded --min 5 --limit 2 --limit 0 | hint
