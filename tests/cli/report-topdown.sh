. "$SOURCE/tests/lib.sh"
need_command jq
"$TOOLS/make-profile" topdown p
# the parts are shares of slots: 0 where nothing was counted, dimmed where readings are few
culprit report p
culprit report --inclusive --color=always p | grep -e rarely -e parse
# by a part its counts are shown, too
culprit report --sort topdown-be-bound p | sed -n '/retiring %/,/^$/p'
culprit report --json p | jq -c '.rows[] | [.procedure] + .topdown'
# alone, or without slots, they are counts like any other
culprit report -e topdown-be-bound p | sed -n '/^topdown/,/^$/p'
culprit report -e topdown-be-bound -e topdown-retiring --json p | jq -c '[.rows[].topdown]'
# slots without parts, too
culprit report -e slots -e cycles p | sed -n '/^cycles/,/^$/p'
