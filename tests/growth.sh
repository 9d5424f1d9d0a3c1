# What files of N and of 4 N of something cost, for scripts that say that it grows with a file's size.

# growth TIMES N KIND VERB...: the processor time of VERB, of all its processes, with files of N and
# of 4 N; FILE in VERB stands for them. $make KIND N FILE EXECUTABLE writes one. Of three tries the
# fastest counts, for others use the machine: with the larger file the first that is fast enough settles it.
growth() {
	python3 - "$make" "$CULPRIT" "$@" <<'END'
import os, subprocess, sys
make, culprit, most, count, kind, *verb = sys.argv[1:]

def cost(number, enough=0.0):
    name = f"{kind}-{number}"
    subprocess.run([make, kind, str(number), name, culprit], check=True)
    best = None
    for _ in range(3):
        before = os.times()
        done = subprocess.run(["culprit"] + [name if word == "FILE" else word for word in verb],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        best = max(spent if best is None else min(best, spent), 0.02)
        if best < enough:
            break
    return best, done.returncode

once, code = cost(int(count))
enough = once * float(most)
four, code = cost(4 * int(count), enough)
print(f"{kind}: {'grows' if four < enough else f'{once:.2f} s, then {four:.2f} s'}, status {code}")
END
}
