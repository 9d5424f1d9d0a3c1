# Several runs a side. What a run of `noisy` takes differs by more than counting explains, so a change
# that counting alone would mark is none; `slower` takes 10 % more in each run.
python3 - <<'END'
runs = {
    "noisy": [9000, 10000, 11000, 11400, 12100, 10300],
    "slower": [20000, 20100, 19950, 22010, 22090, 21900],
    "same": [5000, 5050, 4980, 5010, 4990, 5040],
    "rare": [3, 0, 2, 4, 1, 2],
}
for i in range(10):
    runs["other%d" % i] = [1000 + (37 * i * k) % 23 for k in range(6)]
for r in range(6):
    with open("%s%d.folded" % ("ab"[r // 3], r % 3 + 1), "w") as out:
        for name, counts in runs.items():
            out.write("program;%s %d\n" % (name, counts[r]))
END
culprit diff --counts samples a1.folded a2.folded a3.folded -- b1.folded b2.folded b3.folded --limit 6
echo
echo "all added up on each side, as if one run each: noisy is marked"
cat a?.folded >a.folded
cat b?.folded >b.folded
culprit diff --counts samples a.folded b.folded --limit 3 | sed -n '/^compared/,$p'
echo
echo "two against one, by shares"
culprit diff --per total --counts samples a1.folded a2.folded -- b1.folded --limit 2 | sed -n '/^compared/,$p'
culprit diff --json --counts samples a1.folded a2.folded a3.folded -- b1.folded b2.folded b3.folded --limit 1 |
	sed -n '/"noise":{/,/}/p; /"variance_of_runs/,/degrees/p'
for mistake in 'a1.folded a2.folded b1.folded' 'a1.folded --' 'a1.folded -- b1.folded -- b2.folded' \
	'a1.folded -- missing.folded' '--per second a1.folded a2.folded -- b1.folded'; do
	culprit diff $mistake || echo "status $?"
done
# one profile a side, with and without '--' between them
culprit diff --counts samples a1.folded b1.folded >without
culprit diff --counts samples a1.folded -- b1.folded >with
cmp without with
culprit diff --counts samples -- a1.folded b1.folded | cmp without -
