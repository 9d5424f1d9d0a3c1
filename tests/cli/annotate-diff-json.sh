for kind in x86 x86-changed; do
	"$TOOLS/make-code-profile" $kind $kind
done
culprit annotate compute x86-changed --diff x86 -e cpu-clock --json | sed -n '1,/"rows"/p; /^ *"text"/p; /^ *"verdict"/p; /^ *"\(before\|after\)":null/p'
