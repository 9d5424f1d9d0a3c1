# The paths of source files are a program's to choose: whoever looks at its listing sees what everybody
# may read, or what is the reader's own; nothing is opened that is no file.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command setpriv cc

chmod 755 . .. 2>/dev/null || true
mkdir -m 777 open
mkdir -m 700 closed
here=$PWD
nobody() {
	setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}
nobody test -x open || skip "another user cannot come here"
text() {
	yes "$1" | head -n 40
}
text secret_of_mode >secret
chmod 600 secret
text secret_of_group >group
chmod 640 group
text secret_of_folder >closed/inner
text public_line >public
text own_line >open/own
chown 65534 open/own
chmod 600 open/own
chmod 644 public closed/inner
mkfifo fifo
chmod 666 fifo
mkdir -m 755 root root/open
text rooted_line >root/own
ln -s ../secret root/up
ln -s "$here/public" root/absolute

# A procedure for each line of what the program says its source is.
names="$here/secret $here/group $here/closed/inner $here/public $here/open/own $here/fifo /proc/self/environ /dev/zero"
names="$names /own /up /absolute /../secret /open/../own /none"
{
	echo 'int main(void) { volatile unsigned long n = 0; while (n < 60000000) {'
	for name in $names; do
		printf '# 7 "%s"\nn++;\n' "$name"
	done
	echo '} return 0; }'
} >program.c
cc -g -O0 program.c -o program
chmod 755 program
# Whoever opens it unblocks the writer.
(: >fifo && : >opened) 2>/dev/null &
writer=$!
trap 'kill $writer 2>/dev/null || :' EXIT
expect_status 0 culprit record -q -e cpu-clock -F 200 -o program.prof -- ./program
chmod 644 program.prof

listing() { # BY WHOM [OPTION]...
	who=$1
	shift
	[ "$who" != nobody ] || set -- -i "$here/program.prof" "$@"
	[ "$who" = nobody ] || set -- -i program.prof "$@"
	$who timeout 30 "$CULPRIT" annotate "$@" main >listing 2>notes || { cat notes; fail "no listing as $who"; }
	cat notes
}
shown() { grep -q "$1" listing || fail "'$1' is not shown to $2"; }
hidden() { ! grep -q "$1" listing || fail "'$1' is shown to $2"; }

listing env
shown public_line root
for secret in secret_of_mode secret_of_group secret_of_folder own_line PATH=; do
	hidden $secret root
done
expect_match "note" "$(cat notes)" \
	"culprit: 7 source files are not shown: (not everybody may read '$here/|'$here/fifo' is not a reg|'/proc/self/environ' is one|'/dev/zero' is not)"
expect_equal "notes of sources" "$(grep -c "source file" notes)" 1

cp "$CULPRIT" culprit 2>/dev/null && chmod 755 culprit && CULPRIT=$here/culprit
listing nobody
shown public_line nobody
shown own_line nobody
for secret in secret_of_mode secret_of_group secret_of_folder PATH=; do
	hidden $secret nobody
done

# Below a folder that was named: its owner's, and no way out of it.
chmod 600 root/own
listing env --source-root root
shown rooted_line root
for line in public_line secret_of_mode; do
	hidden $line root
done
expect_match "note" "$(cat notes)" "culprit: 3 source files are not shown: '(up|absolute|../secret)' leads out of '$here/root'"

# What lies there already: another user's own folder, which root names.
chown 65534 open; chmod 700 open
listing env --source-root open
shown own_line root
[ ! -e opened ] || fail "a FIFO was opened"
