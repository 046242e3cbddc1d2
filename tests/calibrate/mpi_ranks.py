#!/usr/bin/env python3
"""The program with its ranks in processes of a launcher: of MPI, or one that sets RANK and WORLD_SIZE.

    mpi_ranks.py PROGRAM ranks N       a check on N processes holds
    mpi_ranks.py PROGRAM broken        a spoiled check ends with status 1 and its table
    mpi_ranks.py PROGRAM too_many      more ranks than processes: one line, status 2
    mpi_ranks.py PROGRAM killed        a rank that is killed is named, with what the others were doing
    mpi_ranks.py PROGRAM stopped       a rank that hangs is named by who waits for it, and the run ends
    mpi_ranks.py PROGRAM namespaces    ranks in two network namespaces, over a virtual wire
    mpi_ranks.py PROGRAM variables N   a check on N processes that know their rank from variables holds
    mpi_ranks.py PROGRAM gone          of two such processes one is killed: the other says so and ends
    mpi_ranks.py PROGRAM slurm         two processes with the variables of srun
    mpi_ranks.py PROGRAM hosts         three such processes, two of them beside rank 0's address, one in a namespace of its own

Exit status: 0 as expected, 1 not, 4 skipped, with the reason.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 4
CHECK = ["calibrate", "check", "--backend", "host"]
LONG_CHECK = [*CHECK, "--timeout-ms", "3000"]
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


def mpirun(count, *words):
    return ["mpirun", "--oversubscribe", "-n", str(count), *words]


def run(words, timeout=240):
    return subprocess.run(words, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL, env=ENVIRONMENT, check=False)


def require(condition, what, text):
    if condition:
        return 0
    print(f"{what}; it said:\n{text[-3000:]}")
    return 1


def check_ranks(program, count):
    model, lowering = ("moe", "expert_parallel") if int(count) < 8 else ("dense", "attention_dp")
    result = run(mpirun(count, program, *CHECK, "--model", model, "--lowering", lowering))
    said = result.stdout + result.stderr
    return require(result.returncode == 0 and f"up to {count} ranks in {count} processes" in said and ", 0 broken" in said, "the check does not hold", said)


def check_broken(program):
    result = run(mpirun(2, program, *CHECK, "--model", "dense", "--lowering", "tensor_parallel", "--break", "halve_message"))
    said = result.stdout + result.stderr
    return require(result.returncode == 1 and "BROKEN" in said and "rows do not hold" in said, "a spoiled run went unnoticed", said)


def check_too_many(program):
    result = run(mpirun(2, program, *CHECK, "--ranks", "4"))
    return require(result.returncode == 2 and "4 ranks, but the launcher started 2 processes" in result.stderr, "no clear line", result.stderr)


def process_of_rank(launcher, rank):
    """Of the processes below the launcher the one that is `rank`, once it runs."""
    wanted = f"OMPI_COMM_WORLD_RANK={rank}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as stream:
                names = stream.read().split(b"\0")
            with open(f"/proc/{pid}/stat", encoding="utf-8") as stream:
                parent = int(stream.read().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            continue
        if wanted in names and parent == launcher:
            return int(pid)
    return None


def disturbed(program, how):
    """What a run of three ranks says when rank 1 gets a signal after a while, and how long it took to end."""
    words = mpirun(3, program, *LONG_CHECK, "--ranks", "3", "--model", "small")
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT) as launcher:
        pid = None
        for _ in range(200):
            time.sleep(0.1)
            pid = process_of_rank(launcher.pid, 1)
            if pid:
                break
        time.sleep(4)   # past the start of MPI, also on a busy machine
        start = time.monotonic()
        if pid:
            os.kill(pid, how)
        try:
            said, _ = launcher.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            launcher.kill()
            said = "it never ended\n" + launcher.communicate()[0]
        return launcher.returncode, said, time.monotonic() - start


def check_killed(program):
    status, said, seconds = disturbed(program, signal.SIGKILL)
    fine = status != 0 and seconds < 30 and re.search(r"rank 1 .*(signal 9|does not answer)", said) and re.search(r"rank [02] was ended from outside in \w+ \(step", said)
    return require(fine, f"status {status} after {seconds:.0f} s", said)


def check_stopped(program):
    status, said, seconds = disturbed(program, signal.SIGSTOP)
    fine = status != 0 and seconds < 40 and re.search(r"rank [02] in \w+ \(step \d+, node -?\d+\): waited 3000 ms for rank 1, last heard of in|rank 1 does not answer", said)
    return require(fine, f"status {status} after {seconds:.0f} s", said)


class ReservedPort:
    """A port that is nobody else's as long as this lives: bound, not listened on, so that rank 0 may."""

    def __init__(self):
        self.held = socket.socket()
        self.held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.held.bind(("", 0))
        self.number = self.held.getsockname()[1]

    def has_connection(self):
        """Whether anybody is connected to it."""
        with open("/proc/net/tcp", encoding="utf-8") as stream:
            lines = [line.split() for line in stream][1:]
        return any(words[1].endswith(f":{self.number:04X}") and words[3] == "01" for words in lines)


def without_launcher():
    return {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI", "SLURM_", "TORCHELASTIC"))}


def start_all(program, count, variables, *words, before=lambda rank: []):
    return [subprocess.Popen([*before(rank), program, *CHECK, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                             env={**without_launcher(), **variables(rank)}) for rank in range(count)]


def torch_variables(count, port, address=lambda rank: "127.0.0.1"):
    return lambda rank: {"RANK": str(rank), "WORLD_SIZE": str(count), "LOCAL_RANK": str(rank), "MASTER_ADDR": address(rank), "MASTER_PORT": str(port)}


def hold(processes, count):
    said = [process.communicate(timeout=240) for process in processes]
    fine = all(process.returncode == 0 for process in processes) and f"up to {count} ranks in {count} processes" in said[0][0] and ", 0 broken" in said[0][0]
    return require(fine and not any(out for out, _ in said[1:]), "the check does not hold", "\n".join(out + err for out, err in said))


def check_variables(program, count):
    number = int(count)
    port = ReservedPort()
    return hold(start_all(program, number, torch_variables(number, port.number), "--model", "dense", "--lowering", "tensor_parallel"), number)


def check_slurm(program):
    port = ReservedPort()
    variables = lambda rank: {"SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2", "SLURM_LOCALID": str(rank), "SLURM_STEP_NODELIST": "localhost",
                              "SLURM_JOB_ID": "7", "SLURM_STEP_ID": "0", "MASTER_PORT": str(port.number)}
    return hold(start_all(program, 2, variables, "--model", "dense", "--lowering", "tensor_parallel"), 2)


def check_gone(program):
    port = ReservedPort()
    processes = start_all(program, 2, torch_variables(2, port.number), "--model", "small", "--timeout-ms", "5000")
    waited = time.monotonic()
    while not port.has_connection() and time.monotonic() - waited < 60:
        time.sleep(0.02)
    time.sleep(0.3)   # among the rows of the check
    processes[1].kill()
    start = time.monotonic()
    out, err = processes[0].communicate(timeout=60)
    seconds = time.monotonic() - start
    processes[1].communicate()
    fine = processes[0].returncode in (1, 3) and seconds < 30 and re.search(r"rank 1 (has hung up|does not answer)", out + err)
    return require(fine, f"status {processes[0].returncode} after {seconds:.0f} s", out + err)


class Namespaces:
    """Two network namespaces joined by a virtual wire, each standing for a node."""

    def __init__(self):
        self.names = [f"shardplan{os.getpid()}{side}" for side in "ab"]
        self.addresses = ["10.213.77.1", "10.213.77.2"]

    def ip(self, *words):
        return subprocess.run(["ip", *words], capture_output=True, text=True, check=False).returncode == 0

    def up(self):
        wires = [f"sp{os.getpid() % 100000}{side}" for side in "ab"]
        done = all(self.ip("netns", "add", name) for name in self.names)
        done = done and self.ip("link", "add", wires[0], "type", "veth", "peer", "name", wires[1])
        for name, wire, address in zip(self.names, wires, self.addresses):
            done = done and self.ip("link", "set", wire, "netns", name)
            done = done and self.ip("-n", name, "addr", "add", f"{address}/24", "dev", wire)
            done = done and self.ip("-n", name, "link", "set", wire, "up") and self.ip("-n", name, "link", "set", "lo", "up")
        return done

    def down(self):
        for name in self.names:
            self.ip("netns", "del", name)


def in_namespaces(check):
    """What check(spaces) says of two hosts that are network namespaces; SKIPPED where there can be none."""
    if shutil.which("ip") is None:
        print("skipped: no ip command")
        return SKIPPED
    spaces = Namespaces()
    try:
        if spaces.up():
            return check(spaces)
        print("skipped: network namespaces are not permitted here")
        return SKIPPED
    finally:
        spaces.down()


def check_namespaces(program):
    return in_namespaces(lambda spaces: hold_over_namespaces(spaces, program))


def hold_over_namespaces(spaces, program):
    with tempfile.TemporaryDirectory() as folder:
        agent = os.path.join(folder, "agent.sh")
        with open(agent, "w", encoding="utf-8") as stream:   # what a remote shell is on a cluster: HOST COMMAND ...
            stream.write("#!/bin/sh\nhost=$1; shift\ncase $host in\n")
            for name, address in zip(spaces.names, spaces.addresses):
                stream.write(f"  {address}) exec ip netns exec {name} sh -c \"$*\" ;;\n")
            stream.write("esac\nexit 1\n")
        os.chmod(agent, 0o755)
        hosts = ",".join(f"{address}:2" for address in spaces.addresses)
        wire = ["--mca", "plm_rsh_agent", agent, "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.213.77.0/24",
                "--mca", "oob_tcp_if_include", "10.213.77.0/24"]
        words = ["ip", "netns", "exec", spaces.names[0], "mpirun", "--host", hosts, "--map-by", "node", *wire, "-n", "4", program, *CHECK,
                 "--model", "dense", "--lowering", "pipeline"]
        result = run(words)
    said = result.stdout + result.stderr
    return require(result.returncode == 0 and "4 processes" in said and ", 0 broken" in said, "the check over two namespaces does not hold", said)


def check_hosts(program):
    """Rank 1 reaches rank 0 as 127.0.0.1, where rank 2 would call itself: it must be told what is beside rank 0."""
    def hold_beside(spaces):
        address = lambda rank: spaces.addresses[0] if rank == 2 else "127.0.0.1"
        inside = lambda rank: ["ip", "netns", "exec", spaces.names[1 if rank == 2 else 0]]
        return hold(start_all(program, 3, torch_variables(3, 29501, address), "--model", "dense", "--lowering", "tensor_parallel", before=inside), 3)
    return in_namespaces(hold_beside)


def main():
    program, what, *rest = sys.argv[1:]
    needs_mpi = what not in ("variables", "gone", "slurm", "hosts")
    if not os.access(program, os.X_OK) or (needs_mpi and shutil.which("mpirun") is None):
        print("skipped: no program, or no mpirun")
        return SKIPPED
    return globals()[f"check_{what}"](os.path.abspath(program), *rest)


if __name__ == "__main__":
    sys.exit(main())
