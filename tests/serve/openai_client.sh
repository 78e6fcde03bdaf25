#!/bin/sh
# openai_client.sh PROGRAM ROOT - the official client of OpenAI against the server. Its package is fetched once
# into a cache; without a way to fetch it the test is skipped.
set -eu
program=$1 root=$2
here=$root/tests/serve
cache=${S2PRUNE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/s2prune}/openai-client
mkdir -p "$cache"
if ! cmp -s "$here/package-lock.json" "$cache/package-lock.json" || [ ! -d "$cache/node_modules/openai" ]; then
    cp "$here/package.json" "$here/package-lock.json" "$cache/"
    npm ci --ignore-scripts --no-audit --no-fund --prefix "$cache" > "$cache/npm.log" 2>&1 || {
        echo "skipped: the package openai cannot be fetched: $(tail -n 1 "$cache/npm.log")" >&2
        rm -f "$cache/package-lock.json"
        exit 77
    }
fi
cp "$here/openai_client.mjs" "$cache/openai_client.mjs"
exec node "$cache/openai_client.mjs" "$program" "$root"
