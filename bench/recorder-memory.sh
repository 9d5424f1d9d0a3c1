# The recorder's own memory (RssAnon) beside programs that are each run once, eight a second, and as many
# processes with a perf map, in epochs of a second. MEMORY_SECONDS (10; the full form 240) of it.
. "$SOURCE/tests/lib.sh"
need_command python3
need_root
need_cpu_sampling
seconds=${MEMORY_SECONDS:-10}

culprit record -q -a --epoch 1s -o db --duration "${seconds}s" 2>said &
recorder=$!
python3 - $recorder "$seconds" "$KERNELS/busy" <<'END'
import os, subprocess, sys, time

recorder, seconds, busy = sys.argv[1], int(sys.argv[2]), sys.argv[3]
A_SECOND, KEPT = 8, 24  # programs; those that still lie where they ran
BUILD_ID = b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"  # the head of the note that has it
program = bytearray(open(busy, "rb").read())
build_id = program.index(BUILD_ID) + len(BUILD_ID)
running = []


def own_kb():
    with open(f"/proc/{recorder}/status") as status:
        return int(next(line for line in status if line.startswith("RssAnon:")).split()[1])


begin = time.monotonic()
for number in range(A_SECOND * (seconds - 2)):
    time.sleep(max(0, begin + number / A_SECOND - time.monotonic()))
    program[build_id:build_id + 8] = number.to_bytes(8, "little")
    with open(f"program{number}", "wb") as file:
        file.write(program)
    os.chmod(file.name, 0o755)
    running += [subprocess.Popen([f"./{file.name}", "split", "0.02"]), subprocess.Popen([busy, "jit", "0.02"])]
    running = [process for process in running if process.poll() is None]
    if number >= KEPT:
        os.unlink(f"program{number - KEPT}")
    if number % (A_SECOND * max(1, seconds // 12)) == 0:
        print(f"after {number // A_SECOND:3} s: {own_kb() / 1000:.1f} MB", flush=True)
for process in running:
    process.wait()
END
wait $recorder || fail "record: $(cat said)"
