#!/bin/sh
# Part of the installation: the manual pages and the completions, written by the program itself.
# Usage: install_pages.sh FASTGPU MANDIR DATADIR, both below the prefix
set -eu
prefix=$MESON_INSTALL_DESTDIR_PREFIX
data=$prefix/$3
"$1" __man "$prefix/$2/man1"
mkdir -p "$data/bash-completion/completions" "$data/zsh/site-functions" "$data/fish/vendor_completions.d"
"$1" completion bash >"$data/bash-completion/completions/fastgpu"
"$1" completion zsh >"$data/zsh/site-functions/_fastgpu"
"$1" completion fish >"$data/fish/vendor_completions.d/fastgpu.fish"
