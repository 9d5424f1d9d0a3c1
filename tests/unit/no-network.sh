#!/bin/sh
# Culprit listens nowhere and connects nowhere but by the daemon's Unix socket, and to who started it as a service
# (docs/security.md): its own code makes no other socket but pairs, and a call that did would be found.
set -eu
root=$1
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
calls='(^|[^a-z_>.])(socket|connect|bind|listen|accept4?|getaddrinfo|gethostbyname) *\('

ours='daemon/control.c|cli/daemon_client.c|cli/service_manager.c'

# In the files of the daemon's socket only sockets of another family.
found() {
	grep -rnE --include='*.c' --include='*.h' "$calls" "$1" | grep -vE ':[0-9]+:[[:space:]]*(/?\*|//)' |
		grep -vE "/($ours):[0-9]+:.*(socket\\(AF_UNIX,|(bind|listen|accept4|connect)\\()" || true
}
said=$(found "$root/src")
if [ -n "$said" ]; then
	echo "$said"
	exit 1
fi
printf 'static int f(void) { return socket(AF_INET, SOCK_STREAM, 0); }\n' >"$copy/a.c"
[ -n "$(found "$copy")" ] || { echo "a socket is not found"; exit 1; }
mkdir "$copy/daemon"
mv "$copy/a.c" "$copy/daemon/control.c"
[ -n "$(found "$copy")" ] || { echo "a socket of the network is not found in the daemon"; exit 1; }
rm "$copy/daemon/control.c"
# and what only passes them on is none
printf 'int g(int socket) { return send_all(socket, lane->connect(1)); }\n' >"$copy/a.c"
[ -z "$(found "$copy")" ] || { echo "found: $(found "$copy")"; exit 1; }
