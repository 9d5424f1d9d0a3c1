# the figures of VT200's article; counts whose error nobody knows
cat >before <<'END'
main;pixelLogLikelihood 315804
main;other 800096
END
cat >after <<'END'
main;pixelLogLikelihood 199904
main;other 800096
END
printf 'f 200\n' >f200
printf 'f 100\n' >f100
culprit diff before after
for counts in samples exact; do
	culprit diff before after --counts $counts --inclusive | sed -n '/before M/,$p'
done
percents() {
	culprit diff "$@" --json | sed -n 's/^ *"\(procedure\|change_percent\|change_percent_of_after_total\)":/\1/p'
}
percents before after
percents f200 f100
