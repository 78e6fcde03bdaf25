#!/bin/sh
# verify_shared.sh PROGRAM GOLDENS - all goldens of the kinds this version checks; 77 where there are none.
[ -d "$2" ] || { echo "no folder $2: skipped"; exit 77; }
"$1" verify "$2/algo" && "$1" verify "$2/methods" && "$1" verify "$2/bench"
