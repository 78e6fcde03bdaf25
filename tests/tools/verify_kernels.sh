#!/bin/sh
# verify_kernels.sh PROGRAM GOLDENS - whole models against Hugging Face, with every exact table of the tower's kernels this
# machine runs and with ggml's operators; 77 where there are no such goldens.
[ -d "$2/hf" ] || { echo "no folder $2/hf: skipped"; exit 77; }
n=0
for name in $("$1" --version | sed -n 's/^tower: .*(available:\(.*\))/\1/p'); do
    case $name in *bf16 | *int8 | *vnni | *q8) continue ;; esac # these round
    echo "$name"
    "$1" verify "$2/hf" --kernels "$name" || exit 1
    for family in qwen2vl qwen3vl llava15 internvl3 smolvlm gemma3; do
        [ ! -d "$2/families/$family" ] || "$1" verify "$2/families/$family" --kernels "$name" || exit 1
    done
    n=$((n + 1))
done
[ "$n" -ge 2 ] # scalar and ggml are everywhere
