# What is missing at the end of a file is told, where the format has an end or a last newline to miss.
read_all() { # FILE
	culprit report "$1" 2>&1 >/dev/null
}
cachegrind='desc: I1 cache: x\ncmd: ./a\nevents: Ir\nfl=a.c\nfn=main\n1 100\n2 20'
printf "$cachegrind" >cachegrind.out.cut
printf "$cachegrind"'00\nsummary: 2100\n' >cachegrind.out.whole
printf 'a;b 1\na;c 20' >cut.folded
printf 'a;b 1\na;c 2000\n' >whole.folded
speedscope() { # END
	printf '{"$schema":"https://www.speedscope.app/file-format-schema.json",'
	printf '"shared":{"frames":[{"name":"a"},{"name":"b"}]},"profiles":[{"type":"evented",'
	printf '"name":"x","unit":"none","startValue":0,"endValue":%s,"events":[' $1
	printf '{"type":"O","frame":0,"at":0},{"type":"O","frame":1,"at":5},'
	printf '{"type":"C","frame":1,"at":9},{"type":"O","frame":1,"at":9}]}]}'
}
speedscope 1 >cut.json
speedscope 12 >whole.json
for file in cachegrind.out.cut cut.folded cut.json cachegrind.out.whole whole.folded whole.json; do
	echo "$file"
	read_all $file
done
