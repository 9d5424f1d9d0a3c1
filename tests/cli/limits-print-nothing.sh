# Whatever memory was refused for, also where a report could do without it, as for names of a local
# file: nothing is printed but why.
. "$SOURCE/tests/lib.sh"
need_command python3 readelf
need_counted_memory
program=$(ls "$KERNELS"/* | while read -r file; do
	readelf -n "$file" 2>/dev/null | grep -q 'Build ID' && echo "$file" && break
done)
[ -n "$program" ] || { echo "no program with a build-id was built"; exit 77; }
build=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
PYTHONPATH="$SOURCE/tests" python3 -B - "$program" "$build" <<'END'
import subprocess, sys
from protobuf import message, number


texts = [b"", b"cpu", b"nanoseconds", *(word.encode() for word in sys.argv[1:])]
mapping = number(1, 1) + number(3, 1 << 24) + number(5, 3) + number(6, 4)
location = number(1, 1) + number(2, 1) + number(3, 0x1100)
with open("profile", "wb") as file:
    file.write(message(1, number(1, 1) + number(2, 2)) + message(3, mapping) + message(4, location))
    file.write(message(2, message(1, b"\1") + message(2, b"\1")))
    file.write(b"".join(message(6, text) for text in texts))

for words in ["report"], ["report", "--json"], ["annotate", "-i"]:
    refused = shown = 0
    for step in range(70):
        limit = f"memory={int(80 * 1.05 ** step)}K"
        done = subprocess.run(["culprit", words[0], "--limits", limit, *words[1:], "profile"], capture_output=True)
        refused += done.returncode == 1
        shown += done.returncode == 0 and bool(done.stdout)
        if done.returncode and done.stdout:
            print(*words, "with", limit, "refuses, but prints", len(done.stdout), "bytes first")
    print(*words, "is refused and shown" if refused and shown else f"refused {refused}, shown {shown}")
END
