#!/bin/bash
# Makes DIR/vmlinuz and DIR/initrd, with which machines.sh boots: Debian's kernel with its modules for RDMA in software.
# image.sh DIR [siw]: siw (iWARP), which Debian leaves out, is built from Debian's source of the same kernel.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
mkdir -p "$1"; cd "$1"
with_siw=${2:-}
modules=(virtio_pci virtio_net 9pnet_virtio 9p overlay sch_netem crc32_generic ib_uverbs rdma_ucm rdma_rxe)

package=$(apt-cache depends linux-image-amd64 | sed -n 's/.*Depends: \(linux-image-.*\)/\1/p')
version=${package#linux-image-}
made="$version $with_siw $(cat "$here/guest_init.sh" "$here/image.sh" | sha256sum)"
[ "$(cat made 2>/dev/null)" != "$made" ] || exit 0
rm -rf kernel source initramfs made
apt-get download -qq "$package"
dpkg -x "$package"_*.deb kernel
if [ -n "$with_siw" ]; then
  source=linux-source-${version%%-*}; source=${source%.*}
  apt-get install -y -qq --no-install-recommends "linux-headers-$version" make gcc xz-utils
  apt-get download -qq "$source"
  dpkg -x "$source"_*.deb source
  tar -xJf "source/usr/src/$source.tar.xz" -C source --wildcards "$source/drivers/infiniband/sw/siw/*"
  make -C "/usr/src/linux-headers-$version" M="$PWD/source/$source/drivers/infiniband/sw/siw" CONFIG_RDMA_SIW=m modules
  mkdir -p "kernel/lib/modules/$version/extra"
  strip -g -o "kernel/lib/modules/$version/extra/siw.ko" "source/$source/drivers/infiniband/sw/siw/siw.ko"
  modules+=(siw)
fi
rm -f ./*.deb
depmod -b kernel "$version"

# A file system in memory: busybox, the modules in the order of their dependencies, and the first program.
mkdir -p initramfs/{bin,modules,proc,sys,dev,host,lower,upper,out}
cp "$(command -v busybox)" initramfs/bin/busybox
for module in "${modules[@]}"; do
  modprobe -d kernel -S "$version" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
done | awk '!seen[$0]++' | while read -r file; do
  cp "$file" initramfs/modules/
  basename "$file"
done >initramfs/modules/order
install -m 755 "$here/guest_init.sh" initramfs/init
(cd initramfs && find . | cpio -o -H newc --quiet | gzip -1) >initrd
cp "kernel/boot/vmlinuz-$version" vmlinuz
rm -rf kernel source initramfs
printf '%s\n' "$made" >made
