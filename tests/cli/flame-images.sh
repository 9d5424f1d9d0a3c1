# Colours by image: an image has one colour in all graphs; the legend names the largest with their
# shares, and says when two have the same colour.
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
	i=0
	while [ $i -lt "$n" ]; do
		printf 'app  10/10 %d.%06d:          1 cycles:\n\t    1%03d work_%d (/usr/lib/lib%d.so)\n\n' "$n" "$i" "$n" "$n" "$n"
		i=$((i + 1))
	done
done >script.txt
culprit flame --color package -o - script.txt >graph.svg
sed -n '/id="legend"/,/<\/g>/p' graph.svg
echo "colours in use: $(sed -n 's/.*class="\(p[0-9][0-9]*\) .*/\1/p' graph.svg | sort -u | wc -l)"
# the same images, other sizes; kernel and C library have fixed colours
sed 's/ *1 cycles:/ 1 cycles:/; s/^\(app.*10\/10 \)\([0-9]*\)/\1\2/' script.txt | awk -v RS= '{ print $0 "\n" } /lib3\.so/ { for (i = 0; i < 9; i++) print $0 "\n" }' >other.txt
culprit flame --color package -o - other.txt >other.svg
colours() { sed -n 's/.*class="\(p[0-9]*\)"><title>\(.*\)<\/title><\/rect>/\2 \1/p' "$1" | sort; }
colours graph.svg >a
colours other.svg >b
echo "in both graphs: $(join a b | wc -l), of another colour: $(join a b | awk '$2 != $3' | wc -l), only in the other: $(join -v 2 a b)"
printf 'app  10/10 1.0:  1 cycles:\n\tffffffff81000010 read_k ([kernel.kallsyms])\n\t 7f10 read (/usr/lib/libc.so.6)\n\t 10 main (/bin/libc.sort)\n\n' >fixed.txt
culprit flame --color package -o - fixed.txt | sed -n 's/.*class="\(p[0-9]*\) .*<title>\([a-z_]*\).*/\2 \1/p'
