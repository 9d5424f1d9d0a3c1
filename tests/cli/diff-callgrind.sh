# callgrind counts every instruction: the least change is one
for cost in 1000 1001; do
	cat >out.$cost <<END
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir
fl=a.c
fn=work
3 $cost
fn=rest
9 500
totals: $((cost + 500))
END
done
culprit diff out.1000 out.1001 | sed -n '/^total/,/^base/p'
sed 's/^creator.*/creator: xdebug 3.0.2/' out.1001 >out.other
culprit diff out.1000 out.other | sed -n '/^total/,/^base/p'
culprit annotate work out.1001 --diff out.1000 -q | sed -n '/^Ir/,$p'
