#!/bin/sh
# train.sh OUT [LLAMA_CPP] - the whole way: tokenizer, training, export, benchmark. MINUTES: 90.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out/hf"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH="$here"
python3 "$here/build_tokenizer.py" "$out/hf"
nice python3 "$here/train.py" --tokenizer "$out/hf" --out "$out/run" --minutes "${MINUTES:-90}" --schedule "$here/schedule.json"
python3 "$here/export_hf.py" "$out/run/final.pt" "$out/hf"
[ $# -lt 2 ] || python3 "$here/export_gguf.py" "$2" "$out/hf" "$out/gguf"
