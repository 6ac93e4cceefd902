#!/bin/bash
# Runs a script in two emulated machines on one virtual wire: machines.sh IMAGE rxe|siw SECONDS SCRIPT. Each machine sees this one's files.
# In the script: $NODE (1, 2), $DRIVER. Prints the log of each, and fails if the script fails in one, or is not done after SECONDS.
set -uo pipefail
image=$(realpath "$1") driver=$2 seconds=$3 script=$4
out=$(mktemp -d)
started=()
end() { kill "${started[@]}" 2>/dev/null; wait; rm -rf "$out"; }
trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
printf '%s\n' "$script" >"$out/command"
for node in 1 2; do
  # Emulated, not by the host's virtualization, which not every machine has. tsc=unstable: its clock would run with the host's load.
  # They end with this script, also when it is killed.
  setpriv --pdeathsig TERM timeout "$seconds" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 1 -m 1024 -M q35 -nodefaults -no-reboot -display none \
    -kernel "$image/vmlinuz" -initrd "$image/initrd" \
    -append "console=ttyS0 quiet panic=-1 node=$node rdma=$driver mitigations=off tsc=unstable no_timer_check" \
    -serial "file:$out/console.$node" -device virtio-rng-pci \
    -netdev "dgram,id=wire,local.type=unix,local.path=$out/wire$node,remote.type=unix,remote.path=$out/wire$((3 - node))" \
    -device "virtio-net-pci,netdev=wire,mac=52:54:00:77:00:0$node,host_mtu=9000" \
    -virtfs local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap \
    -virtfs "local,path=$out,mount_tag=out,security_model=none" >"$out/qemu.$node" 2>&1 &
  started+=($!)
done
wait "${started[@]}"
worst=0
for node in 1 2; do
  status=$(cat "$out/status.$node" 2>/dev/null || echo none)
  echo "== machine $node: exit status $status"
  cat "$out/log.$node" 2>/dev/null || cat "$out/console.$node" "$out/qemu.$node"
  [ "$status" = 0 ] || worst=1
done
exit $worst
