# Names that steer a terminal: there they are escaped; in a pipe folded text has what is not of ASCII as it is.
printf 'a\033[31m\tb;\302\2335m\342\200\256;caf\303\251 3\n' >named.folded
culprit import named.folded -o named.prof
for format in folded csv speedscope; do
	culprit export -f "$format" named.prof >"$format" 2>&1
	python3 - "$format" <<'END'
import os, pty, subprocess, sys
terminal, end = pty.openpty()
subprocess.run(["culprit", "export", "-f", sys.argv[1], "named.prof"], stdout=end, check=True)
os.close(end)
shown = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
shown = shown.replace(b"\r\n", b"\n")
steers = [c for c in shown.decode() if (c < " " and c not in "\n\t") or "\x7f" <= c < "\xa0" or c == "\u202e"]
print(sys.argv[1], "on a terminal:", "steers it" if steers else "harmless",
      "with é" if "é" in shown.decode() else "without é")
END
done
cat -v folded
