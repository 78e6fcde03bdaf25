#!/bin/sh
# check_types.sh SOURCE FOLDER - the types of the Python package are complete (mypy --strict), and a user's program sees them.
set -eu
source=$1 folder=$2
mypy=/usr/bin/mypy # of the system: it knows the system's numpy
[ -x "$mypy" ] || { echo "skipped: no mypy (scripts/setup test installs it)"; exit 77; }
/usr/bin/python3 -c 'import numpy' 2> /dev/null || { echo "skipped: no python3 with numpy"; exit 77; }
cd "$source/python" # where its settings are
"$mypy" --strict --cache-dir "$folder/mypy" src/s2prune

cat > "$folder/user.py" << 'END'
import s2prune

with s2prune.Engine("m.gguf", "p.gguf") as engine, engine.session(temperature=0.5) as session:
    answer = session.ask("What is it?", ["a.jpg"], method="s2prune", budget="11%")
    reveal_type(answer.plans[0].keep)
    for piece in answer:
        reveal_type(piece)
    session.ask(3)
    engine.sessions()
END
MYPYPATH=src "$mypy" --strict --cache-dir "$folder/mypy" "$folder/user.py" > "$folder/user.txt" && { echo "two errors were not found"; exit 1; }
grep -q 'Revealed type is "builtins.str"' "$folder/user.txt"
grep -q 'Revealed type is "numpy.ndarray\[Any, numpy.dtype\[numpy.signedinteger' "$folder/user.txt"
grep -q 'user.py:8: error: Argument 1 to "ask" of "Session" has incompatible type "int"' "$folder/user.txt"
grep -q 'user.py:9: error: "Engine" has no attribute "sessions"' "$folder/user.txt"
grep -q 'Found 2 errors' "$folder/user.txt"
