# Colours by image: the largest ones all differ, and the legend names them with their shares.
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
