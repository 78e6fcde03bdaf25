#!/bin/sh
# verify_shared.sh PROGRAM GOLDENS - the goldens of the kinds this version checks that are there; 77 where there are none.
n=0
for kind in algo methods bench structured; do
    [ -d "$2/$kind" ] || { echo "no folder $2/$kind: skipped"; continue; }
    "$1" verify "$2/$kind" || exit 1
    n=$((n + 1))
done
[ $n -gt 0 ] || exit 77
