#!/usr/bin/env bash
# Runs every fuzzer for so many seconds: run.sh BUILD_DIR SECONDS. What it finds stays in BUILD_DIR/fuzz.
set -euo pipefail
build=$1 seconds=$2 failed=0 passed=0
mkdir -p "$build/fuzz"
"$build/tests/fuzz/make_fuzz_seeds" "$build/fuzz"   # What the encoders write is what to begin with.
for program in "$build"/tests/fuzz/fuzz_*; do
  if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
  name=$(basename "$program")
  corpus=$build/fuzz/$name.corpus
  mkdir -p "$corpus"
  seeds=$(dirname "$0")/seeds/${name#fuzz_}
  if [ -d "$seeds" ]; then cp "$seeds"/* "$corpus"; fi
  echo "==> $name for $seconds s"
  if "$program" -max_total_time="$seconds" -max_len=65536 -print_final_stats=1 \
      -artifact_prefix="$build/fuzz/$name." "$corpus" >"$build/fuzz/$name.log" 2>&1; then
    passed=$((passed + 1))
    grep -o 'stat::number_of_executed_units: .*' "$build/fuzz/$name.log"
  else
    failed=$((failed + 1))
    tail -n 30 "$build/fuzz/$name.log"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
