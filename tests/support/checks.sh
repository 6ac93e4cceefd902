# shellcheck shell=bash
# The checks of a shell test, which sources this file. Each prints one line. $work is the test's
# folder: the last command of `check` has its output in $work/out and its errors in $work/err.
failed=0
: "${work:?the test sets its folder}"

# Ends the test, with status 1 if anything failed.
finish() { exit "$failed"; }

# Prints the outcome of a sentence: passed SENTENCE, or broken SENTENCE REASON.
passed() { echo "ok: $1"; }
broken() {
  failed=1
  echo "FAILED: $1: $2"
}

# Expects that a command ends with an exit code: check SENTENCE CODE COMMAND...
check() {
  local sentence=$1 wanted=$2 code
  shift 2
  "$@" >"$work/out" 2>"$work/err" </dev/null
  code=$?
  if [[ $code == "$wanted" ]]; then
    passed "$sentence"
  else
    broken "$sentence" "exit code $code, not $wanted: $*"
    head -c 2000 "$work/out" "$work/err"
  fi
}

# Expects a text in "out" or "err" of the last command: says SENTENCE FILE TEXT
says() {
  if grep -qF -- "$3" "$work/$2"; then
    passed "$1"
  else
    broken "$1" "no '$3' in $2:"
    head -c 2000 "$work/$2"
  fi
}

# Expects that a command succeeds: expect SENTENCE COMMAND...
expect() {
  local sentence=$1
  shift
  if "$@" >/dev/null 2>&1; then passed "$sentence"; else broken "$sentence" "$*"; fi
}

# Waits until a command succeeds, and fails after that time: within SECONDS COMMAND...
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.1
  done
}
