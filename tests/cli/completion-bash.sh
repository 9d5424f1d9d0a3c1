# What bash offers after the words that are typed; the last one is being typed.
command -v bash >/dev/null || { echo "no bash here"; exit 77; }
culprit completion bash >completion
touch first.prof 'second one.prof'
cat >offer <<'END'
source ./completion
COMP_WORDS=(culprit "$@")
COMP_CWORD=$#
_culprit
echo "$*: ${COMPREPLY[*]@Q}"
END
bash -n completion
# every verb is offered, and help
bash offer '' | tr ' ' '\n' | sed -n "s/^'\([a-z]*\)'\$/\1/p" | sort >offered
{ culprit --help | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p'; echo help; } | sort >verbs
diff offered verbs
bash offer compl
bash offer help compl
bash offer completion ''
bash offer completion z
bash offer completion --q
bash offer nothing ''
