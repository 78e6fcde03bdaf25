#!/bin/sh
# check_writers.sh TEST_PARQUET MAKE_TABLES WORK - a fresh table from hyparquet-writer and DuckDB, value by value.
set -eu
test=$1 make=$2 work=$3
skip() { echo "skipped: $*"; exit 77; }
command -v node > /dev/null && command -v npm > /dev/null || skip "no node or no npm"
mkdir -p "$work/tables"
cd "$work"
if [ ! -d node_modules/hyparquet-writer ] || [ ! -d node_modules/@duckdb/node-api ]; then
    [ -f package.json ] || echo '{"private": true}' > package.json
    timeout 120 npm install --no-audit --no-fund hyparquet-writer@0.16.10 @duckdb/node-api > npm.log 2>&1 ||
        skip "npm cannot install the writers: $(grep -v '^npm warn' npm.log | head -n 1)"
fi
rm -f tables/*
node "$make" "$work/tables" 11 400 duckdb || skip "the writers do not run here"
"$test" "$work" "$work/tables"
