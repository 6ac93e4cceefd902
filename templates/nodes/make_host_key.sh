# Makes a host key of the node's own, sets the node's name, and prints the public key.
# $1: the node's name.
# The new key is stored beside the old one until sshd uses it. Then a mark in /run, which a reboot removes, records that the
# key is the node's own. The script may be killed between any two lines and be run again.
# shellcheck shell=sh
set -e
key=/etc/ssh/ssh_host_ed25519_key
next=$key.next
own=/run/fastgpu-host-key-is-own
hostname "$1"
printf '%s\n' "$1" > /etc/hostname
if [ ! -e "$own" ] && [ ! -e "$next.pub" ]; then
  rm -f "$key.part" "$key.part.pub" "$next"
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$key.part"
  mv "$key.part" "$next"
  mv "$key.part.pub" "$next.pub"
fi
if [ -e "$next.pub" ]; then cat "$next.pub"; else cat "$key.pub"; fi
