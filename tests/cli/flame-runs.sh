# Several runs a side: what runs of `noisy` differ by is in the verdicts, so it is no change; `slower`
# takes 10 % more in each. As if one run each, both changed.
python3 - <<'END'
runs = {
    "noisy": [9000, 10000, 11000, 11400, 12100, 10300],
    "slower": [20000, 20100, 19950, 22010, 22090, 21900],
    "same": [5000, 5050, 4980, 5010, 4990, 5040],
}
for i in range(10):
    runs["other%d" % i] = [1000 + (37 * i * k) % 23 for k in range(6)]
for r in range(6):
    with open("%s%d" % ("ab"[r // 3], r % 3 + 1), "w") as out:
        for name, counts in runs.items():
            out.write("program;%s%s %d\n" % ("deep;" if name == "slower" else "", name, counts[r]))
END
cat a? >a
cat b? >b
hovers() { sed -n 's/.*<title>\(\(noisy\|slower\|deep\):.*before.*after.*\)<.title>.*/\1/p'; }
subtitle() { sed -n '/id="subtitle"/,/^<.text>/p' | grep -v '^<.text'; }
culprit flame --counts samples --diff a1 a2 a3 -- b1 b2 b3 >runs
hovers <runs
subtitle <runs
culprit flame --counts samples --diff a1 --diff a2 --diff a3 b1 b2 b3 -o - | cmp runs - # the same
culprit flame --counts samples --diff a b >single
hovers <single
subtitle <single
# two runs against three: one run's work is compared
culprit flame --counts samples --diff a1 a2 -- b1 b2 b3 --html | subtitle
culprit flame --counts samples --diff a1 a2 -- 2>&1 || echo "status $?"
