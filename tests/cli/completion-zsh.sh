# zsh takes the script, and it hands the option table to zsh's own machinery.
command -v zsh >/dev/null || { echo "no zsh here"; exit 77; }
culprit completion zsh >_culprit
zsh -f -n _culprit
cat >offer <<'END'
_arguments() { print -rl -- "$@" }
_describe() { print -rl -- "$1:" ${(P)2} }
words=(culprit "$@")
CURRENT=$(($# + 1))
source ./_culprit
END
zsh -f offer '' | grep -c '^completion:print the completion for a shell$'
zsh -f offer completion ''
