# A daemon beside a file that kills what parses it: of a user, it loses its end while it is hashed for want of a
# build-id. The epoch says so, others' programs have their names, every sample is accounted for.
. "$SOURCE/tests/lib.sh"
. "$SOURCE/tests/daemon.sh"
need_command python3
# Not holes: they are not read.
dd if=/dev/urandom of=much bs=1M count=60 status=none
cat >cut.c <<'END'
__asm__(".pushsection .rodata.much, \"a\"; .incbin \"much\"; .popsection");
void cut_work(void) { for (;;) for (volatile int i = 0; i < 100000; i++) ; }
END
cc -O1 -shared -fPIC -Wl,--build-id=none -Wl,-z,now cut.c -o libcut.so
chown 65533 libcut.so
chmod 755 .
# What runs of it stays. It is cut when some of it is in memory, by who is there at once then.
cat >cut.py <<'END'
import ctypes, mmap, os, sys
library, user = sys.argv[1], int(sys.argv[2])
libc = ctypes.CDLL(None)
spinner = os.fork()
if not spinner:
    os.setgid(user)
    os.setuid(user)
    ctypes.CDLL(library).cut_work()
print(spinner, flush=True)
with open(library, "r+b") as file:
    os.fsync(file.fileno())
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    mapped = mmap.mmap(file.fileno(), 16 << 20)
page = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(mapped)) + (8 << 20))
def is_resident():
    resident = ctypes.c_ubyte(0)
    libc.mincore(page, ctypes.c_size_t(mmap.PAGESIZE), ctypes.byref(resident))
    return resident.value & 1
if is_resident():
    print("its file system keeps all files in memory", flush=True)
    sys.exit()
try:
    os.nice(-19)
except PermissionError:
    pass
parent = os.getppid()
print("waits", flush=True)
while os.getppid() == parent and not is_resident():
    pass
os.truncate(library, 1 << 20)
print("cut", flush=True)
END
programs=
end_all() {
	clean_daemon
	# shellcheck disable=SC2086
	kill -KILL $programs 2>/dev/null || true
}
trap end_all EXIT
# await_said LINE: until that line of what the other says is there
await_said() {
	for i in $(seq 200); do
		said=$(sed -n "$1p" cut.said 2>/dev/null || true)
		[ ! "$said" ] || return 0
		sleep 0.1
	done
	fail "the file is not cut: $(cat cut.said cut.err)"
}

"$KERNELS/busy" split 600 &
programs=$!
python3 cut.py ./libcut.so 65533 >cut.said 2>cut.err &
programs="$programs $!"
await_said 1
programs="$programs $said"
await_said 2
[ "$said" = waits ] || skip "$said"
daemon --epoch 1h --merge-interval 500ms --no-stacks
await_said 3
expect_equal "what became of the file" "$said" cut
await_figure samples "$(($(figure samples) + 500))"
expect_equal "the daemon" "$(state)" sampling
stop
cat daemon.said
culprit check -q db >/dev/null
epoch=$(ls db/*/*.prof)
expect_equal "files that killed what parsed them" "$(bill "$epoch" 'left_out_[a-z]*_failed')" 1
expect_match "the file that did" "$(cat daemon.said)" "for what read them died of it: '$PWD/libcut.so'"
stored=$(bill "$epoch" stored)
expect_equal "runs" "$(bill "$epoch" runs)" "$((stored + $(bill "$epoch" 'lost_(ring|table|damaged|skipped)')))"
"$TOOLS/cells" "$epoch" >cells
expect_between "samples of a file that was cut" "$(awk -F '\t' '$1 == "cell" && $10 ~ /libcut/ { sum += $6 } END { print sum + 0 }' cells)" 20 1000000000
expect_between "samples of a program with its names" "$(samples "$epoch" 10 busy_one 11 busy)" 20 1000000000
