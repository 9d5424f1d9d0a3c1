# Long names are folded, but not where two rows would look the same; both forms can be asked for.
v='std::vector<std::pair<unsigned long const, int>, std::allocator<std::pair<unsigned long const, int> > >'
w='std::vector<std::pair<unsigned long const, long>, std::allocator<std::pair<unsigned long const, long> > >'
printf 'main;void sort<%s >(%s&) 60\nmain;merge(%s) 30\nmain;merge(%s) 10\n' \
	"$v" "$v" "$v" "$w" | culprit import -q -o long.prof -
rows() { culprit report --stash-only "$@" long.prof | sed -n '/procedure$/,/^$/p'; }
rows
rows --full-names
rows --callers 'void sort<std::vector<...> >(std::vector<...>&)'
rows --callers "void sort<$v >($v&)"
culprit report --json long.prof | grep -c 'void sort<std::vector<std::pair<unsigned long const, int>, '
culprit annotate 'void sort<std::vector<...> >(std::vector<...>&)' long.prof | head -n 1
