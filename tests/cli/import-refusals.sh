try() {
	culprit import "$@" && echo "not refused: $*"
	echo "status $?"
}
printf '\376\377\0a\0;\0b\0 \0001\0\n\0' >utf16.txt
printf '\037\213\010\0\0\0\0\0' >packed.gz
printf 'a;b 31 56\na;c 6 2\n' >two.folded
printf 'nothing\nto see\n' >prose.txt
printf 'PERFILE2xxxxxxxx' >perf.data
printf 'a;b 18446744073709551615\na;b 1\n' >large.folded
: >empty
printf 'a;b 1\n\0\0 2\n' >program
for file in utf16.txt packed.gz program prose.txt perf.data large.folded empty missing .; do
	try $file 2>&1
done
try two.folded --event cycles 2>&1
printf 'a;b 1\n' >good.folded
try 2>&1
try good.folded two.folded 2>&1
mkdir folder
try good.folded -o folder 2>&1
try good.folded -o nowhere/out.prof 2>&1
culprit import good.folded -o out.prof -q
try out.prof 2>&1
ls
