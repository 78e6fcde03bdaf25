#!/bin/sh
# run_python.sh PYTHON SOURCE BUILD TEST - a test of the Python package on the libraries of a build folder. Skipped (77)
# without numpy. The sanitizers' run-time library has to come before python itself.
set -eu
python=$1 source=$2 build=$3 test=$4
[ -x "$python" ] && "$python" -c 'import numpy' 2> /dev/null || { echo "skipped: no python3 with numpy"; exit 77; }
export PYTHONPATH="$source/python/src:$source/tests/python" PYTHONDONTWRITEBYTECODE=1 S2PRUNE_LIBRARY="$build" S2PRUNE_SOURCE="$source" S2PRUNE_BUILD="$build"
asan=$(ldd "$build/libs2prune.so" 2> /dev/null | sed -n 's/.*libasan[^ ]* => \([^ ]*\).*/\1/p' | head -n 1)
if [ -z "$asan" ] && nm -D "$build/libs2prune.so" | grep -q '__asan_init'; then
    asan=$(clang -print-file-name=libclang_rt.asan-x86_64.so)
    [ -e "$asan" ] || { echo "skipped: this clang has no shared run-time library of the address sanitizer"; exit 77; }
fi
if [ -n "$asan" ]; then
    export LD_PRELOAD="$asan" ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 # python itself leaks
fi
exec "$python" -B -W error::ResourceWarning "$source/tests/python/$test"
