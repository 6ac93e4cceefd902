# Prints the variables that a script exports, as exports for any shell.
# $1: the script, which is one for bash.
# This text goes into a command within single quotes, so it has none, not even in a comment.
# shellcheck shell=bash
# shellcheck disable=SC1090
. "$1" >/dev/null 2>&1 </dev/null
quote=$(printf "\047")
for name in $(compgen -e); do
  case $name in SHLVL | PWD | OLDPWD | _) continue ;; esac
  value=${!name}
  printf "export %s=%s\n" "$name" "$quote${value//$quote/$quote\\$quote$quote}$quote"
done
