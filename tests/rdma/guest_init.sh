#!/bin/busybox sh
# shellcheck shell=dash
# The first program of a machine. On the kernel's command line: node=1|2 rdma=rxe|siw. The file system of the host is its own, what it
# writes there stays in its memory; /out is a folder of the host that both machines write to, in which `command` is what to run.
/bin/busybox --install -s /bin
export PATH=/bin:/sbin:/usr/bin:/usr/sbin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/shm /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t devpts devpts /dev/pts
read -r words </proc/cmdline
for word in $words; do
  case $word in
    node=*) node=${word#node=} ;;
    rdma=*) rdma=${word#rdma=} ;;
  esac
done
while read -r module; do insmod "/modules/$module" || echo "insmod $module failed"; done </modules/order
ip link set lo up
ip link set eth0 mtu 9000 up
ip addr add "10.77.0.$node/24" dev eth0
options=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o "$options,ro,cache=loose" root /lower
mount -t 9p -o "$options,cache=none" out /out
mount -t tmpfs tmpfs /upper
mkdir /upper/files /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /host
for folder in proc sys dev; do mount --rbind "/$folder" "/host/$folder"; done
mount -t tmpfs tmpfs /host/run
mkdir -p /host/out
mount --bind /out /host/out
hostname "node$node"
ulimit -l unlimited
export NODE="$node" DRIVER="$rdma"
chroot /host /bin/bash /out/command >"/out/log.$node" 2>&1
echo $? >"/out/status.$node"
sync
poweroff -f
