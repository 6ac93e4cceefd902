# Prints what a node has counted since its start, and what it uses now; one value or group of values a line, with its name in front:
#   uptime SECONDS
#   cpu TICKS...                     as in /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal
#   memory TOTAL-KIB AVAILABLE-KIB
#   net KIND RECEIVED SENT           bytes of an interface; KIND is device or virtual
#   gpu INDEX PERCENT USED-MIB TOTAL-MIB
#   gpu_tool_silent                  if nvidia-smi does not answer
# shellcheck shell=sh
read -r uptime _ </proc/uptime
echo "uptime $uptime"
read -r name ticks </proc/stat
echo "$name $ticks"
total=0 available=0
while read -r name kib _; do
  case $name in
    MemTotal:) total=$kib ;;
    MemAvailable:) available=$kib ;;
  esac
done </proc/meminfo
echo "memory $total $available"
sed -n 's/^ *\([^: ]*\): */\1 /p' /proc/net/dev | while read -r name received _ _ _ _ _ _ _ sent _; do
  kind=virtual
  if [ -e "/sys/class/net/$name/device" ]; then kind=device; fi
  if [ "$name" != lo ]; then echo "net $kind $received $sent"; fi
done
if command -v nvidia-smi >/dev/null 2>&1; then
  code=0
  said=$(timeout 5 nvidia-smi --query-gpu=index,utilization.gpu,memory.used,memory.total --format=csv,noheader,nounits) || code=$?
  printf '%s\n' "$said" | sed -n 's/,//g; s/^\([0-9]\)/gpu \1/p'   # What it says about a failure begins with a word.
  if [ "$code" = 124 ]; then echo gpu_tool_silent; fi
fi
