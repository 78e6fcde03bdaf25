#!/usr/bin/env python3
"""The schedulers of docs/CLUSTER.md on the bundled model: the merged run is the run of one process.

    check_cluster.py PROGRAM FOLDER

GNU parallel, Open MPI, and Slurm with a controller, a node and munge of its own on the loopback; what is not installed, or
may not run here, is named and left out. Ends only what it started.
"""
import os
import shutil
import socket
import subprocess
import sys
import time

PROGRAM, FOLDER = (os.path.abspath(a) for a in sys.argv[1:3])
ASK = ("eval", "--methods", "full,s2prune", "--budgets", "32", "--limit", "40", "-t", "1", "-q")


def call(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=FOLDER, **options)


def merged(folder, expected):
    status = call(PROGRAM, "eval", "status", folder)
    assert status.returncode == 0, (status.stdout, status.stderr)
    done = call(PROGRAM, "eval", "merge", folder, "-o", "csv", "-q")
    assert done.returncode == 0 and done.stdout == expected, (done.stdout, done.stderr)
    return status.stdout.count("\n")


def check_parallel(expected):
    if not shutil.which("parallel"):
        return "GNU parallel: not installed"
    for name, shard, text, how in (("p1", "{}/3", "0\n1\n2\n", "-n1"), ("p2", "auto/3", "a\nb\nc\n", "-n0")):
        done = call("parallel", "--will-cite", "-j", "2", how, PROGRAM, *ASK, "--out", name, "--shard", shard, input=text)
        assert done.returncode == 0, done.stderr
        assert merged(name, expected) == 3
    return "GNU parallel: 3 shards, index given and taken from PARALLEL_SEQ"


def check_mpi(expected):
    if not shutil.which("mpirun"):
        return "Open MPI: not installed"
    done = call("mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", PROGRAM, *ASK, "--out", "mpi")
    assert done.returncode == 0, done.stderr
    assert merged("mpi", expected) == 3
    return "Open MPI: 3 shards"


CONF = """ClusterName=loopback
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmUser=root
SlurmctldPort=26817
SlurmdPort=26818
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
"""


def check_slurm(expected):
    needed = ("munged", "slurmctld", "slurmd", "sbatch", "srun")
    missing = [name for name in needed if not shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    if missing or os.geteuid() != 0:
        return "Slurm: " + (", ".join(missing) + " not installed" if missing else "its daemons want root")
    folder = os.path.join("/tmp", f"s2prune-slurm-{os.getpid()}")  # paths of sockets are short
    for name in ("", "state", "spool"):
        os.makedirs(os.path.join(folder, name))
    started = []
    environment = dict(os.environ, SLURM_CONF=f"{folder}/slurm.conf", PATH=os.environ["PATH"] + ":/usr/sbin:/sbin")
    for name in list(environment):
        if name.startswith("SLURM_") and name != "SLURM_CONF":
            del environment[name]
    try:
        with open(f"{folder}/munge.key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{folder}/munge.key", 0o600)
        with open(f"{folder}/slurm.conf", "w", encoding="ascii") as file:
            file.write(CONF.format(host=socket.gethostname().split(".")[0], folder=folder))
        log = open(f"{folder}/daemons.log", "w", encoding="ascii")
        for command in (("munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                         f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed"),
                        ("slurmctld", "-D", "-f", f"{folder}/slurm.conf"), ("slurmd", "-D", "-f", f"{folder}/slurm.conf")):
            started.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            time.sleep(1)
        for _ in range(30):
            state = call("sinfo", "-h", "-o", "%t", env=environment)
            if state.stdout.strip() == "idle":
                break
            time.sleep(1)
        else:
            return "Slurm: the node does not come up here: " + (state.stdout + state.stderr).strip()
        script = "#!/bin/sh\n#SBATCH --requeue\n#SBATCH --signal=TERM@120\nexec " + " ".join((PROGRAM, *ASK, "--out", "array")) + "\n"
        with open(os.path.join(FOLDER, "array.sh"), "w", encoding="utf-8") as file:
            file.write(script)
        done = call("sbatch", "--wait", "--array=5-11:2", "--time=10", "--output=array-%a.log", "array.sh", env=environment)
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert merged("array", expected) == 4
        done = call("srun", "-n", "2", PROGRAM, *ASK, "--out", "srun", env=environment)
        assert done.returncode == 0, done.stderr
        assert merged("srun", expected) == 2
        return "Slurm: an array of 4 shards and srun with 2"
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    whole = call(PROGRAM, *ASK, "--out", "whole", "--shard", "0/1", "-o", "csv")
    assert whole.returncode == 0, whole.stderr
    for check in (check_parallel, check_mpi, check_slurm):
        print(check(whole.stdout), flush=True)
    print("ok")
