# A C file for a compiler to chew on: functions of loops, switches, calls and arithmetic,
# drawn by a generator of its own so that each awk writes the same.
function draw(limit) { seed = (seed * 16807) % 2147483647; return seed % limit }
BEGIN {
	seed = 20011
	print "unsigned long length(const char *);"
	for (f = 0; f < 110; f++) {
		printf "struct s%d { int a[16]; struct s%d *next; double d; };\n", f, f
		printf "int f%d(struct s%d *p, int n, const char *text)\n{\n\tint r = 0;\n", f, f
		print "\tfor (int i = 0; i < n; i++) {"
		for (k = 10 + draw(6); k > 0; k--) {
			what = draw(6); x = draw(16); y = draw(16); c = draw(97)
			if (what == 0)
				printf "\t\tp->a[%d] += p->a[%d] * %d;\n", x, y, c
			if (what == 1)
				printf "\t\tif (p->a[%d] > %d)\n\t\t\tr ^= p->a[%d];\n\t\telse\n\t\t\tp->d += p->a[%d];\n", x, c, y, y
			if (what == 2)
				printf "\t\twhile (r > %d)\n\t\t\tr /= 2;\n", 10 * c
			if (what == 3)
				printf "\t\tr += length(text + %d) * p->a[%d];\n\t\tif (text[i %% %d] == 'a' + %d)\n\t\t\tp = p->next;\n", x, y, x + 1, x
			if (what == 4) {
				printf "\t\tswitch ((p->a[%d] + i) & 7) {\n\t\tcase 0: r += %d; break;\n", x, c
				printf "\t\tcase 1: r -= i; break;\n\t\tcase 3: p->a[%d] = r; break;\n", y
				printf "\t\tcase 5: r *= 3; break;\n\t\tcase 6: r ^= %d; break;\n\t\tdefault: r++;\n\t\t}\n", c
			}
			if (what == 5 && f > 0)
				printf "\t\tp->a[%d] ^= (int)sizeof(struct s%d) + r %% %d;\n", x, draw(f), c + 2
		}
		print "\t}\n\treturn r;\n}"
	}
}
