#!/bin/sh
# llama_lines.sh PROGRAM TABLE SOURCE WORK - command lines of llama.cpp's programs, unchanged.
set -eu

program=$1 table=$2 source=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
ln -s "$source/models/s2prune-tiny/s2prune-tiny-f16.gguf" model.gguf
ln -s "$source/models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf" mmproj.gguf
ln -s "$source/data/synth/images/0000.jpg" photo.jpg
ln -s "$source/data/synth/images/0001.jpg" other.jpg
echo "What number is written?" > question.txt
mkdir bin
for name in llama-mtmd-cli llama-cli; do
    printf '#!/bin/sh\nexec "%s" run "$@"\n' "$program" > "bin/$name"
    chmod +x "bin/$name"
done
PATH=$work/bin:$PATH
n=0 failed=0
while read -r code line; do
    case $code in [0-9]*) ;; *) continue ;; esac
    n=$((n + 1)) got=0
    sh -c "$line" < /dev/null > out 2> err || got=$?
    notes=$(grep -c '^note: .*nothing to do here' err || true)
    if [ "$got" != "$code" ] || { [ "$code" = 0 ] && [ ! -s out ]; } || [ "$notes" -gt 1 ]; then
        echo "exit $got instead of $code, $notes notes: $line"
        cat err
        failed=$((failed + 1))
    fi
done < "$table"

# A variable that another program reads never stops a run; what it means here counts.
expect() { # WORD VARIABLE=VALUE: the word stands in the note or the result
    env "$2" llama-mtmd-cli -m model.gguf --mmproj mmproj.gguf --image photo.jpg -p "What?" -o json > out 2> err ||
        { echo "$2: exit $?"; failed=$((failed + 1)); }
    n=$((n + 1))
    grep -q "$1" out err || { echo "$2: no '$1'"; cat err; failed=$((failed + 1)); }
}
expect 'LLAMA_ARG_N_PREDICT .many.*ignored' LLAMA_ARG_N_PREDICT=many
expect 'LLAMA_ARG_CACHE_TYPE_K .iq4_nl.*ignored' LLAMA_ARG_CACHE_TYPE_K=iq4_nl
expect '"completion_tokens": *1[,}]' LLAMA_ARG_N_PREDICT=1
expect 'LLAMA_ARG_UBATCH .0.*ignored' LLAMA_ARG_UBATCH=0
expect 'LLAMA_ARG_N_GPU_LAYERS .lots.*ignored' LLAMA_ARG_N_GPU_LAYERS=lots
expect '"visual_bytes": *225792[,}]' LLAMA_ARG_CACHE_TYPE_V=q8_0 # 192 tokens, 6 layers, 128 bytes of keys and 68 of values
expect 'LLAMA_ARG_FLASH_ATTN .maybe.*ignored' LLAMA_ARG_FLASH_ATTN=maybe
# The two files the wrong way round.
n=$((n + 1))
llama-mtmd-cli -m mmproj.gguf --mmproj model.gguf --image photo.jpg -p "What?" > out 2> err && failed=$((failed + 1))
grep -q 'the two files are swapped' err || { echo "swapped files are not named"; cat err; failed=$((failed + 1)); }
# A vision part alone, beside a language part that nobody named.
n=$((n + 1))
llama-mtmd-cli -m mmproj.gguf --image photo.jpg -p "What?" > out 2> err && failed=$((failed + 1))
grep -q 'the file given as the model is a vision part' err || { echo "an mmproj as the model"; cat err; failed=$((failed + 1)); }
# An mmproj of another model of the same width; text in another encoding, and where; too large a picture.
says() { # CODE WORDS LINE
    n=$((n + 1)) got=0
    sh -c "$3" < /dev/null > out 2> err || got=$?
    [ "$got" = "$1" ] && grep -q -- "$2" err || { echo "exit $got, no '$2': $3"; cat err; failed=$((failed + 1)); }
}
LC_ALL=C sed 's/Tiny Qwen2.5-VL/Teen Qwen2.5-VL/' mmproj.gguf > teen.gguf
says 0 "note: the mmproj is of 'Teen Qwen2.5-VL', the model is 'Tiny Qwen2.5-VL'" \
    'llama-mtmd-cli -m model.gguf --mmproj teen.gguf --image photo.jpg -p "What?" -n 1'
printf 'Is it\na caf\351?' > latin.txt
says 3 'latin.txt is not UTF-8: byte 0xE9 at line 2, character 6' 'llama-mtmd-cli -m model.gguf --mmproj mmproj.gguf -f latin.txt'
says 3 "byte 0xE9 after '.*a caf'" 'llama-mtmd-cli -m model.gguf --mmproj mmproj.gguf -sys "$(printf "a caf\351")" -p "What?"'
says 3 'limit is 1000 pixels (--max-image-pixels)' \
    'llama-mtmd-cli -m model.gguf --mmproj mmproj.gguf --image photo.jpg -p "What?" --max-image-pixels 1000'
llama-mtmd-cli -m model.gguf --mmproj mmproj.gguf --image photo.jpg -p "What?" -n 1 > out 2> err
! grep -q 'the mmproj is of' err || { echo "a note about a good pair"; failed=$((failed + 1)); }
echo "$n lines, $failed failed"
[ "$n" -ge 25 ] && [ "$failed" -eq 0 ]
