# Files of four times as many events, images, spellings of one local file and so on cost about four
# times as much, not 16 or 64 times: what a stranger's file costs grows with its size.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/growth.sh"
need_command python3
make="$TOOLS/make-costly-file"

growth 9 1000 events diff FILE FILE
growth 9 10000 images report FILE
growth 2 15 spellings report FILE
growth 9 3000 builds diff --stash-only FILE FILE
growth 9 8000 sources annotate -s FILE
growth 9 3000 cpu-names report FILE
growth 9 8000 cpu-variables report FILE
growth 9 4000 mappings report FILE

# accuracy N: the processor time of accuracy, with N and 4 N files in the recording and in the
# exact counts, each of them with a count.
accuracy() {
	python3 - "$make" "$@" <<'END'
import os, subprocess, sys
make, count = sys.argv[1:]

def cost(number):
    subprocess.run([make, "images", str(number), "sampled"], check=True)
    with open("counted", "w") as out:
        out.write("# callgrind format\nversion: 1\npositions: instr line\nevents: Ir\n")
        for i in range(1, number + 1):
            out.write(f"ob=/nowhere/{i}\nfl=f\nfn=g{i}\n0x10 1 1\n")
    best = None
    for _ in range(3):
        before = os.times()
        subprocess.run(["culprit", "accuracy", "--stash-only", "--truth", "counted", "sampled"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        best = spent if best is None else min(best, spent)
    return max(best, 0.02)

once, four = cost(int(count)), cost(4 * int(count))
print("accuracy:", "grows" if four < 9 * once else f"{once:.2f} s, then {four:.2f} s")
END
}
accuracy 4000
