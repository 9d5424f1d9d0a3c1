# What files of N and of 4 N of something cost, for scripts that say that it grows with a file's size.

# growth TIMES N KIND VERB...: the processor time of VERB, of all its processes, with files of N and
# of 4 N; FILE in VERB stands for them. $make KIND N FILE EXECUTABLE writes one. Of three tries, six
# of the larger file, the fastest counts, for others use the machine: the first that is fast enough settles it.
growth() {
	python3 - "$make" "$CULPRIT" "$@" <<'END'
import resource, subprocess, sys
make, culprit, most, count, kind, *verb = sys.argv[1:]

def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

def cost(number, tries, enough=0.0):
    name = f"{kind}-{number}"
    subprocess.run([make, kind, str(number), name, culprit], check=True)
    best = None
    for _ in range(tries):
        before = used()
        done = subprocess.run(["culprit"] + [name if word == "FILE" else word for word in verb],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        spent = used() - before
        best = max(spent if best is None else min(best, spent), 0.02)
        if best < enough:
            break
    return best, done.returncode

once, code = cost(int(count), 3)
enough = once * float(most)
four, code = cost(4 * int(count), 6, enough)
print(f"{kind}: {'grows' if four < enough else f'{once:.3f} s, then {four:.3f} s'}, status {code}")
END
}
