# Runs an installer of CANN in the environment of its toolkit.
# $1: the installer, $2: the version of CANN.
# shellcheck shell=bash
# shellcheck disable=SC1091   # It is on nodes alone.
for script in "/usr/local/Ascend/cann-$2" /usr/local/Ascend/ascend-toolkit; do
  if [ -r "$script/set_env.sh" ]; then . "$script/set_env.sh"; break; fi
done
exec bash "$1" --quiet --install --install-for-all
