# A full disk under stdout is an error, never a silent success.
[ -e /dev/full ] || { echo "no /dev/full here"; exit 77; }
culprit --help >/dev/full
