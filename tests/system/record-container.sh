# A program in a mount namespace and a root of its own, whose path means nothing (or something
# else) outside.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command unshare chroot
need_cpu_sampling
unshare --mount true 2>/dev/null || skip "no mount namespaces here"

mkdir root
cat >inside <<END
mount -t tmpfs none root
mkdir -p root/tmp root/proc root$(dirname "$KERNELS/busy")
cp "$KERNELS/busy" root/program
for library in \$(ldd "$KERNELS/busy" | grep -o '/[^ ]*'); do
	mkdir -p root\$(dirname \$library)
	cp -L \$library root\$library
done
mount -t proc none root/proc
exec chroot root /program "\$@"
END
culprit record --quiet -F 1000 -o container.prof -- unshare --mount sh inside split 0.8
one=$(samples container.prof 10 busy_one)
two=$(samples container.prof 10 busy_two)
expect_between "samples" $((one + two)) 400 2000
expect_between "busy_one of both" "$(ratio "$one" $((one + two)))" 0.25 0.42

culprit record --quiet -F 1000 -o jit.prof -- unshare --mount --pid --fork sh inside jit 0.8
expect_between "samples of run-time code" "$(samples jit.prof 3 jit 10 jit_work)" 400 2000
