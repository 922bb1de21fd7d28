"""Machines for ranks: network namespaces, joined by shaped veth pairs."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PREFIX = "sluice-cluster"
# By tc's name: the token bucket. A packet passes at once while the bucket is
# full, so it is as small as tbf bears: a packet; at 1 Gb/s its timer needs more.
RATES = {"1gbit": 16000, "100mbit": 1600, "10mbit": 1600}
SPOKEN = {"1gbit": "1 Gb/s", "100mbit": "100 Mb/s", "10mbit": "10 Mb/s"}
PROBE = pathlib.Path(__file__).with_name("probe.py")


class Missing(Exception):
    """Something that this machine lacks; one line."""


def command(*words, check=True):
    done = subprocess.run([str(word) for word in words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if check and done.returncode:
        raise Missing(f"`{' '.join(map(str, words))}` fails: "
                      f"{done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def namespaces():
    return [line.split()[0] for line in command("ip", "netns",
                                                "list").splitlines()]


def end_processes(namespace):
    """Those in a namespace were started for it, directly or not."""
    while pids := command("ip", "netns", "pids", namespace,
                          check=False).split():
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        time.sleep(0.02)


def remove(namespace):
    end_processes(namespace)
    command("ip", "netns", "del", namespace)


def remove_leftovers():
    """Of runs that were killed: their namespaces and folders have the numbers
    of processes that are no more."""
    folders = {path.name: path for path in
               pathlib.Path(tempfile.gettempdir()).glob(f"{PREFIX}-*")}
    for name in [*namespaces(), *folders]:
        found = re.fullmatch(PREFIX + r"-(\d+)-\w+", name)
        if not found or pathlib.Path("/proc", found[1]).exists():
            continue
        if name in folders:
            shutil.rmtree(folders[name], ignore_errors=True)
        else:
            remove(name)


class Network:
    """`size` namespaces, each with one interface eth0 to a bridge that has a
    namespace of its own: nothing outside of them is touched."""

    def __init__(self, size):
        self.name = f"{PREFIX}-{os.getpid()}"
        self.switch = f"{self.name}-switch"
        self.hosts = [f"10.77.0.{k + 1}" for k in range(size)]
        self.spaces = [f"{self.name}-{k + 1}" for k in range(size)]

    def __enter__(self):
        remove_leftovers()
        try:
            self.make()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def make(self):
        command("ip", "netns", "add", self.switch)
        command("ip", "-n", self.switch, "link", "add", "bridge", "type",
                "bridge")
        command("ip", "-n", self.switch, "link", "set", "bridge", "up")
        for k, (space, host) in enumerate(zip(self.spaces, self.hosts)):
            command("ip", "netns", "add", space)
            command("ip", "-n", space, "link", "set", "lo", "up")
            command("ip", "-n", self.switch, "link", "add", f"port{k}", "type",
                    "veth", "peer", "name", "eth0", "netns", space)
            command("ip", "-n", space, "address", "add", f"{host}/24", "dev",
                    "eth0")
            command("ip", "-n", space, "link", "set", "eth0", "up")
            command("ip", "-n", self.switch, "link", "set", f"port{k}",
                    "master", "bridge", "up")

    def close(self):
        there = namespaces()
        for space in [*self.spaces, self.switch]:
            if space in there:
                remove(space)

    def end_processes(self):
        for space in self.spaces:
            end_processes(space)

    def inside(self, k, *words):
        """The command, to be run in a namespace."""
        return ["ip", "netns", "exec", self.spaces[k], *words]

    def shape(self, rate):
        """Each link, in both directions."""
        for k, space in enumerate(self.spaces):
            for where, device in ((space, "eth0"), (self.switch, f"port{k}")):
                command("tc", "-n", where, "qdisc", "replace", "dev", device,
                        "root", "tbf", "rate", rate, "burst", RATES[rate],
                        "latency", "50ms")

    def set_link(self, k, state):
        command("ip", "-n", self.switch, "link", "set", f"port{k}", state)

    def give_up_after(self, retries):
        """How often TCP sends again before it takes a link for lost."""
        for k in range(len(self.spaces)):
            command(*self.inside(k, "sysctl", "-qw",
                                 f"net.ipv4.tcp_retries2={retries}"))

    def sent(self):
        """Bytes that have left each eth0 so far."""
        read = ["cat", "/sys/class/net/eth0/statistics/tx_bytes"]
        return [int(command(*self.inside(k, *read)))
                for k in range(len(self.spaces))]

    def measure(self, seconds=0.5):
        """What TCP gets from a link: (seconds one way, bytes a second)."""
        server = subprocess.Popen(
            self.inside(1, sys.executable, PROBE, "serve"),
            stdout=subprocess.PIPE, text=True)
        try:
            server.stdout.readline()
            text = command(*self.inside(0, sys.executable, PROBE,
                                        self.hosts[1], seconds))
        finally:
            server.kill()
            server.communicate()
        *trips, speed = map(float, text.split())
        return statistics.median(trips) / 2, speed
