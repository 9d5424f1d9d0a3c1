# Long text on a terminal goes through a pager, chosen as git chooses.
. "$SOURCE/tests/lib.sh"
need_command python3
"$TOOLS/make-code-profile" large culprit.prof
"$TOOLS/make-profile" clock small.prof
mkdir bin
# pagers that note what they were given
cat >bin/note <<'END'
#!/bin/sh
cat >"seen-$1"
echo "pager $1: $(wc -l <"seen-$1") lines, LESS=$LESS, LV=$LV" >>notes
END
printf '#!/bin/sh\nexec note less\n' >bin/less
chmod +x bin/note bin/less
cat >run.py <<'END'
import os, pty, sys, subprocess
# run.py [NAME=VALUE...] culprit ARGUMENTS: on a terminal; then what came there, in lines, and the status
words = sys.argv[1:]
environment = {k: v for k, v in os.environ.items() if k not in ("PAGER", "CULPRIT_PAGER", "LESS", "LV", "NO_COLOR")}
environment["TERM"] = "xterm"
environment["PATH"] = os.getcwd() + "/bin:" + environment["PATH"]
while "=" in words[0]:
    name, value = words.pop(0).split("=", 1)
    environment[name] = value
terminal, end = pty.openpty()
started = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=end, stderr=subprocess.PIPE, env=environment)
os.close(end)
text = b""
while True:
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        piece = b""
    if not piece:
        break
    text += piece
errors = started.stderr.read().decode()
print(" ".join(sys.argv[1:]) + ":", text.count(b"\n"), "lines at the terminal, status", started.wait())
if errors:
    print("stderr:", errors, end="")
if os.path.exists("notes"):
    print(open("notes").read(), end="")
    os.remove("notes")
END
on() { python3 run.py "$@"; }
on culprit report small.prof
on PAGER='note one' culprit report small.prof
on PAGER='note one' CULPRIT_PAGER='note two' culprit report small.prof
on LESS=S LV=x culprit report small.prof
# none: an empty one, cat, --no-pager, a terminal that cannot show it
on PAGER= culprit report small.prof
on PAGER='note one' CULPRIT_PAGER=cat culprit report small.prof
on culprit report --no-pager small.prof
on TERM=dumb culprit report small.prof
on TERM=dumb PAGER='note one' culprit report small.prof
# nor where stdout is no terminal
PATH="$PWD/bin:$PATH" PAGER='note one' culprit report small.prof | wc -l
[ ! -e notes ]
# one that is not there is done without
on PAGER=no-such-pager culprit report small.prof 2>&1 | sed 's/^stderr: .*no-such-pager.*/stderr: the shell says so/'
# the verb's status, not the pager's; a reader that leaves does so quietly
printf 'f 100\n' >f100
printf 'f 108\n' >f108
on PAGER='note one; exit 5' culprit diff -q --fail-above 5 --counts exact f100 f108
on PAGER='head -n 1' culprit annotate large --no-source
on PAGER=true culprit annotate large --no-source
on PAGER='note one' culprit report no-such.prof
# all verbs that print for people; colours stay
for words in 'report small.prof' 'annotate large' 'summary' 'diff small.prof small.prof' 'events cpu-clock'; do
	on culprit $words | sed 's/[0-9]* lines, /N lines, /'
done
on culprit report --json small.prof | tail -n 1
on culprit report small.prof >out
grep -c "$(printf '\033')" seen-less
# data for tools does not go there
on culprit export -q small.prof
