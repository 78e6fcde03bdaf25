#!/bin/sh
# npm_client.sh SCRIPT PROGRAM ROOT - clients of other APIs against the server. Their packages are fetched once
# into a cache; without a way to fetch them the test is skipped.
set -eu
script=$1 program=$2 root=$3
here=$root/tests/serve
cache=${S2PRUNE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/s2prune}/npm-clients
mkdir -p "$cache"
exec 9> "$cache/lock" # two tests use it
if command -v flock > /dev/null; then flock 9; fi
if ! cmp -s "$here/package-lock.json" "$cache/package-lock.json" || [ ! -d "$cache/node_modules/openai" ]; then
    cp "$here/package.json" "$here/package-lock.json" "$cache/"
    npm ci --ignore-scripts --no-audit --no-fund --prefix "$cache" > "$cache/npm.log" 2>&1 || {
        echo "skipped: the packages of the clients cannot be fetched: $(tail -n 1 "$cache/npm.log")" >&2
        rm -f "$cache/package-lock.json"
        exit 77
    }
fi
cp "$here/client_server.mjs" "$here/$script" "$cache/"
exec 9>&- node "$cache/$script" "$program" "$root"
