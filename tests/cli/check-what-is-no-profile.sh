# One sentence each; exit status 1: there is nothing to judge.
. "$SOURCE/tests/lib.sh"
: >empty
echo 'some text' >text
head -c 300 "$CULPRIT" >elf
mkdir folder
mkfifo pipe
cp "$SOURCE/tests/data/profile-v1.prof" newer
printf '\0\0\0\7' | dd of=newer bs=1 seek=60 conv=notrunc status=none
cp "$SOURCE/tests/data/profile-v1.prof" foreign
printf '\0\0\0\0' | dd of=foreign bs=1 seek=68 conv=notrunc status=none
for path in empty text elf folder pipe newer foreign nowhere; do
	status=0
	culprit check "$path" || status=$?
	echo "$path: status $status"
done
status=0
head -c 5000 "$SOURCE/tests/data/profile-v1.prof" >cut
culprit check cut || status=$?
echo "cut: status $status"
culprit check --json "$SOURCE/tests/data/profile-v1.prof" | hide "$SOURCE" SOURCE
