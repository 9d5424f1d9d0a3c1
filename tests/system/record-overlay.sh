# A real overlay mount, as containers have it, with both ways of counting: programs and a library of its lower
# layer, run from two overlays and from the layer itself; one that is copied up while it runs, as its mode is
# changed; one that is deleted there; one that is replaced between two runs.
# beside others
. "$SOURCE/tests/lib.sh"
need_root
need_command unshare cc
need_cpu_sampling
room=$(mktemp -d /tmp/culprit-overlay.XXXXXX)
running=
trap 'kill $running 2>/dev/null || true; wait
	umount "$room"/one "$room"/two 2>/dev/null || true; rm -rf "$room"' EXIT
cd "$room"
mkdir base top-one work-one one top-two work-two two
mount -t overlay overlay -o lowerdir=base,upperdir=top-one,workdir=work-one one 2>/dev/null ||
	skip "no overlay can be mounted here"
mount -t overlay overlay -o lowerdir=base,upperdir=top-two,workdir=work-two two
umount one two
cat >overlaid.c <<'END'
__attribute__((noinline)) void overlaid(void) { for (volatile int i = 0; i < 100000; i++) ; }
END
cat >program.c <<'END'
void overlaid(void);
__attribute__((noinline)) void NAME(void) { for (volatile int i = 0; i < TURNS; i++) ; }
int main(void) { for (;;) { NAME(); overlaid(); } }
END
cc -O1 -shared -fPIC overlaid.c -o base/liboverlaid.so
turns=100000 # other code, else it would be one image with the names of one
for name in kept changed deleted replaced other; do
	turns=$((turns + 1))
	cc -O1 -DNAME=${name}_work -DTURNS=$turns program.c -o base/$name -Lbase -loverlaid '-Wl,-rpath,$ORIGIN'
done
mount -t overlay overlay -o lowerdir=base,upperdir=top-one,workdir=work-one one
mount -t overlay overlay -o lowerdir=base,upperdir=top-two,workdir=work-two two

for name in kept changed deleted; do
	one/$name &
	running="$running $!"
done
sleep 0.3
chmod 700 one/changed
rm one/deleted

# What ran before, and what begins while it is recorded.
record_with() {
	engine=$1
	cp base/replaced two/replaced
	culprit record --quiet -a --engine $engine -F 1000 -o $engine.prof -- sh -c '
		timeout 0.5 two/kept; timeout 0.5 base/kept; timeout 0.5 one/changed
		timeout 0.5 two/replaced; cp base/other two/new; mv two/new two/replaced; timeout 0.5 two/replaced; :'
	culprit check --quiet $engine.prof
	culprit report $engine.prof --limit 0 --by process,image,procedure >$engine.report
	for row in "kept kept kept_work" "kept liboverlaid.so overlaid" "changed changed changed_work" \
		"changed liboverlaid.so overlaid" "deleted deleted deleted_work" "deleted liboverlaid.so overlaid" \
		"replaced replaced replaced_work" "replaced replaced other_work" "replaced liboverlaid.so overlaid"; do
		expect_match "$engine: the report" "$(cat $engine.report)" " $(echo "$row" | sed 's/ / +/g')\$"
	done
	# one image each, wherever it was run
	culprit report $engine.prof --limit 0 --by process,image >images
	expect_equal "$engine: images of kept" "$(grep -c ' kept  *kept' images)" 1
	expect_equal "$engine: images of the library" "$(culprit report $engine.prof --limit 0 --by image |
		grep -c 'liboverlaid.so')" 1
	# of ours: others here may end before they are known
	"$TOOLS/cells" $engine.prof | awk -F '\t' '
		$1 == "cell" && $11 ~ /^(kept|changed|deleted|replaced)$/ { all += $6; if ($3 == "unknown") unknown += $6 }
		END { print all + 0, unknown + 0 }' >counted
	read -r all unknown <counted
	expect_between "$engine: samples" "$all" 500 1000000
	expect_between "$engine: share without an image" "$(ratio "$unknown" "$all")" 0 0.001
}
record_with ring
if (need_kernel_counts); then
	record_with bpf
else
	echo "only by rings"
fi
