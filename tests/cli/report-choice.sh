# a name means the procedure of that name, not the templates that it is an argument of
cat >folded <<'END'
app;main;void demo::sortit<int>(int*, int*);std::less<int>::operator()(int) const 30
app;main;void demo::sortit<long>(long*, long*) 20
app;main;void std::call<demo::sortit<int> >(int);std::less<int>::operator()(int) const 10
app;main;<alloc::Vec<T> as core::Clone>::clone;memcpy 5
app;main;std::vec::push(int) 3
app;main;own::vec::push(int) 2
END
rows() { sed -n '/total %/,/^$/p;/^culprit/p'; }
for name in demo::sortit 'demo::sortit<long>' sortit alloc::Vec::clone clone; do
	echo "== $name"
	culprit report folded --callers "$name" | rows
done
culprit report folded --callees 'std::less::operator()' | rows
culprit report folded --callers push 2>&1 | rows
culprit report folded --callers vec 2>&1 | rows
# as an expression it would be in the template's name, too; what is no name is an expression
for focus in demo::sortit 'demo::sortit.*' 'operator()' 'std::less<int>::operator()(int) const'; do
	echo "== $focus"
	culprit report folded --focus "$focus" --inclusive | rows
done
echo "== without demo::sortit"
culprit report folded --ignore demo::sortit --inclusive | rows
culprit diff folded folded --per demo::sortit 2>&1 | rows
