# A Slurm of one node for a test: munge, slurmctld and slurmd in a folder of their own, on loopback
# alone, without systemd, and gone at the end. To be sourced.
#
#   start_slurm FOLDER    exports SLURM_CONF; returns 1 if it does not come up (see FOLDER/*.log)
#   stop_slurm
#
# Every path in the configuration is absolute and within FOLDER. Nothing of the system's own Slurm
# or munge, if there is one, is touched.

slurm_pids=()

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

missing_slurm() {
  local tool
  for tool in munged slurmctld slurmd sbatch squeue scontrol python3; do
    PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || { echo "$tool"; return 0; }
  done
  return 1
}

write_slurm_conf() {
  local folder=$1 user
  user=$(id -un)
  cat >"$folder/slurm.conf" <<EOF
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0,defer_batch
ReturnToService=2
NodeName=localhost NodeAddr=127.0.0.1 NodeHostname=localhost CPUs=2 State=UNKNOWN
PartitionName=all Nodes=localhost Default=YES MaxTime=10 State=UP OverSubscribe=YES
EOF
  # Without a cgroup of its own slurmd must not look for one.
  printf 'CgroupPlugin=autodetect\nCgroupAutomount=no\n' >"$folder/cgroup.conf"
}

start_slurm() {
  local folder=$1
  PATH=$PATH:/usr/sbin
  mkdir -p "$folder/munge" "$folder/state" "$folder/spool"
  chmod 755 "$folder" "$folder/munge"
  (umask 077; head -c 1024 /dev/urandom >"$folder/munge/key")
  write_slurm_conf "$folder"
  export SLURM_CONF=$folder/slurm.conf
  munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" \
    --pid-file="$folder/munge/pid" --seed-file="$folder/munge/seed" \
    --log-file="$folder/munge.log" >"$folder/munged.out" 2>&1 &
  slurm_pids+=($!)
  wait_until "test -S $folder/munge/socket" || return 1
  slurmctld -D -f "$SLURM_CONF" >"$folder/slurmctld.out" 2>&1 &
  slurm_pids+=($!)
  slurmd -D -N localhost -f "$SLURM_CONF" >"$folder/slurmd.out" 2>&1 &
  slurm_pids+=($!)
  wait_until "sinfo --noheader --format=%t | grep -q idle"
}

wait_until() {
  local i
  for ((i = 0; i < 300; ++i)); do
    eval "$1" >/dev/null 2>&1 && return 0
    sleep 0.1
  done
  return 1
}

stop_slurm() {
  local i
  for ((i = ${#slurm_pids[@]} - 1; i >= 0; --i)); do
    kill "${slurm_pids[i]}" 2>/dev/null || true
    wait "${slurm_pids[i]}" 2>/dev/null || true
  done
  slurm_pids=()
}
