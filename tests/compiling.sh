# For tests of recordings beside a load that nobody here wrote, after tests/lib.sh: gcc, whose
# processes come and go, and xz, for which a pipe is filled. Both run until they are killed.
need_command xz cc

compile() {
	while :; do
		for file in "$SOURCE"/src/profile/*.c; do
			cc -std=gnu17 -O2 -I"$SOURCE/src" -D_GNU_SOURCE -c "$file" -o object.o
		done
	done
}
compress() {
	while :; do
		cat "$SOURCE"/src/*/*.c | xz -9 -c >/dev/null
	done
}
