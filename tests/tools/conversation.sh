#!/bin/sh
# conversation.sh PROGRAM SOURCE WORK - `s2prune run` in a terminal, typed by tmux.
set -eu

program=$1 source=$2 work=$3
command -v tmux > /dev/null || { echo "no tmux"; exit 77; }
# S2_NO_TERMINAL=1 acts as a machine without pseudo-terminals.
{ [ -z "${S2_NO_TERMINAL:-}" ] && (: <> /dev/ptmx) 2> /dev/null; } || { echo "skipped: no pseudo-terminals: cannot open /dev/ptmx"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cp "$source/data/synth/images/0001.jpg" "a picture.jpg"
export TERM=xterm HOME="$work"
unset TMUX
tm() { tmux -f /dev/null -S "$work/socket" "$@"; }
trap 'tm kill-server 2> /dev/null || true' EXIT

# Wait until a pattern stands on the screen N times; a screenful is the message when it does not come.
sees() {
    for _ in $(seq 300); do
        [ "$(tm capture-pane -p -J -S - -t c | grep -cE -- "$1" || true)" -ge "${2:-1}" ] && return 0
        sleep 0.1
    done
    echo "never seen: $1"
    tm capture-pane -p -S - -t c
    exit 1
}
types() { tm send-keys -t c "$@"; }

tm new-session -d -s c -x 150 -y 50 "'$program' run -i '$source/data/synth/images/0000.jpg' -n 2000 -c 3000 --ignore-eos; echo LEFT \$?; sleep 60"
sees '^> '
types 'What number is writtenX' BSpace '?' Enter # edited
sees '^6342'
sleep 0.3
types C-c # ends the answer only
sees 'kept 192 of 576'
sees '^> *$'
types '/budgt 32' Enter
sees "no command '/budgt' \(did you mean '/budget'\?\)"
types '/budget 32' Enter
sees 'ok: .*tokens kept: 32'
types '/method S2PRUNE' Enter
sees 'ok: .*method s2prune'
types '/method nothing' Enter
sees "unknown method 'nothing'; there are full random"
types '/image nowhere.png' Enter
sees "cannot open 'nowhere.png'"
types '/image ~/a\ picture.jpg' Enter
sees 'ok: .*a picture.jpg, 672x672, goes with the next question'
types -l "$(yes '7 3 9' | head -n 900 | tr '\n' ' ')" # a turn that cannot be asked
types Enter
sees 'more than the context of 3000'
types 'How many objects?' Enter
sleep 0.5
types C-c
sees 'kept 32 of 576'
types 'And now?' Enter
sleep 0.5
types C-c
sees 'tokens of the conversation were in the cache'
types '/show' Enter
sees '[▀▄█#@%]'
types '/save kept.png' Enter
types '/save kept.bmp' Enter
sees '\.png or \.svg'
types '/reset' Enter
sees 'ok: a new conversation; pictures'
types Up Up Up Up # history
sees '> And now\?$' 1
types C-c
sees 'once more to leave'
types '/quit' Enter
sees 'LEFT 0'
[ -s kept.png ] || { echo "no kept.png"; exit 1; }
[ ! -e kept.bmp ] || { echo "kept.bmp was written"; exit 1; }
