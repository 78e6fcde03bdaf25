#!/bin/sh
# quantize_peer.sh PROGRAM GOLDENS FOLDER - every type, on every model at hand: the file s2prune
# writes and the file llama-quantize writes are the same, byte for byte. 77 when there is no peer.
set -eu

program=$1
goldens=$2
work=$3
cache=${S2_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/s2prune}
peer=
for candidate in "$cache"/peer/*/bin/llama-quantize; do
    if [ -x "$candidate" ]; then peer=$candidate; fi
done
if [ -z "$peer" ]; then
    echo "no llama-quantize; scripts/build-peer makes it"
    exit 77
fi

mkdir -p "$work"
n=0
for model in "$goldens"/hf/*/gguf/*.gguf "$goldens"/families/*/gguf/*.gguf; do
    [ -f "$model" ] || continue
    for type in Q4_0 Q4_K_M Q5_K_M Q6_K Q8_0 F16 BF16; do
        "$peer" "$model" "$work/theirs.gguf" "$type" >"$work/log" 2>&1 || {
            echo "llama-quantize fails on $model"
            exit 1
        }
        "$program" quantize -q "$model" "$work/ours.gguf" "$type" >/dev/null
        cmp "$work/ours.gguf" "$work/theirs.gguf" || {
            echo "$type of $model differs"
            exit 1
        }
        n=$((n + 1))
    done
done
rm -f "$work/ours.gguf" "$work/theirs.gguf" "$work/log"
if [ "$n" -eq 0 ]; then
    echo "no models under $goldens"
    exit 77
fi
echo "$n files are the same"
