"""The peers of scripts/bench-compare: what they need of the system, and their servers."""

import contextlib
import glob
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import time

# How long a server may take to start or to stop.
PATIENCE_SECONDS = 60


def as_root(*command, **more):
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    subprocess.run([*prefix, *command], check=True, stdout=sys.stderr, **more)


def apt_install(*packages):
    as_root("env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q", "--no-install-recommends", *packages)


def install_postgres():
    """Without the cluster that the package would make and start."""
    apt_install("postgresql-common")
    setting = "/etc/postgresql-common/createcluster.d/osier-bench-compare.conf"
    as_root("tee", setting, input=b"create_main_cluster = false\n")
    try:
        apt_install("postgresql")
    finally:
        as_root("rm", setting)


def postgres_programs():
    """The folder of the newest server that is installed."""
    folders = [pathlib.Path(program).parent for program in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    return max(folders, key=lambda folder: float(folder.parent.name), default=None)


def redis_program():
    """The server. Debian's redis-tools, which starts no service, has it under the name of a checker."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


# What is looked for, and what installs it.
NEEDS = {
    "a C++ compiler": (lambda: shutil.which("c++"), lambda: apt_install("build-essential")),
    "libclang": (lambda: os.environ.get("LIBCLANG_PATH") or glob.glob("/usr/lib/llvm-*/lib/libclang.so*"),
                 lambda: apt_install("libclang-dev")),
    "a PostgreSQL server": (postgres_programs, install_postgres),
    "a Redis server": (redis_program, lambda: apt_install("redis-tools")),
}


def install_missing(peers):
    """Installs what peers need. Returns those that lack something all the same, with the reason."""
    missing = sorted({need for peer in peers for need in peer.needs if not NEEDS[need][0]()})
    reasons = {}
    updated = False
    for need in missing:
        try:
            if not updated:
                as_root("apt-get", "update", "-q")
                updated = True
            NEEDS[need][1]()
        except (OSError, subprocess.CalledProcessError) as error:
            reasons[need] = f"{need} is missing and cannot be installed ({error})"
    lacking = [(peer, [need for need in peer.needs if not NEEDS[need][0]()]) for peer in peers]
    return {peer: "; ".join(reasons.get(need, f"{need} is missing") for need in needs) for peer, needs in lacking if needs}


class Peer:
    """A store in the process that drives it."""

    def __init__(self, name, title, crate, *needs):
        self.name, self.title, self.crate, self.needs = name, title, crate, needs

    def version(self, crates):
        return f"{self.title}: crate {self.crate} {crates[self.crate]}"

    def obstacle(self, home):
        """Why it cannot run in a directory below `home`; none as a rule."""
        return None

    @contextlib.contextmanager
    def ready(self, home):
        """Yields the directory for one run, which is removed behind it."""
        place = home / self.name
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place)
            # What this run left to be written must not be written beside the next one.
            os.sync()


class Redis(Peer):
    """A server with a new directory for each run."""

    @contextlib.contextmanager
    def ready(self, home):
        with super().ready(home) as place:
            # The program looks at its name to know what it is.
            (place / "redis-server").symlink_to(redis_program())
            options = {"port": "0", "unixsocket": "redis.sock", "unixsocketperm": "700", "save": "", "appendonly": "yes",
                       "appendfsync": "always", "logfile": "log"}
            line = [word for name, value in options.items() for word in (f"--{name}", value)]
            # In a session of its own: an interrupt reaches it by way of this script only.
            server = subprocess.Popen([place / "redis-server", *line], cwd=place, start_new_session=True)
            try:
                self.wait(server, place)
                yield place
            finally:
                server.terminate()
                try:
                    server.wait(PATIENCE_SECONDS)
                except subprocess.TimeoutExpired:
                    server.kill()
                    server.wait()

    def wait(self, server, place):
        """Returns when the server answers."""
        end = time.monotonic() + PATIENCE_SECONDS
        ping = ["redis-cli", "-s", "redis.sock", "ping"]
        while subprocess.run(ping, cwd=place, capture_output=True, text=True).stdout.strip() != "PONG":
            if server.poll() is not None or time.monotonic() > end:
                log = place / "log"
                sys.exit(f"Redis does not start:\n{log.read_text() if log.exists() else ''}")
            time.sleep(0.05)

    def version(self, crates):
        line = subprocess.run(["redis-cli", "--version"], capture_output=True, text=True, check=True).stdout
        return f"{self.title} {line.split()[1]}: crate {self.crate} {crates[self.crate]}"


class Postgres(Peer):
    """A cluster that is made for the first run, and a server that is started for each one. It will not run as root."""

    SETTINGS = """
        listen_addresses = ''
        unix_socket_directories = '.'
        unix_socket_permissions = 0700
        fsync = on
        synchronous_commit = on
        shared_buffers = 512MB
    """

    def as_user(self):
        if os.geteuid() != 0:
            return {}
        user = pwd.getpwnam("postgres")
        return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}

    def obstacle(self, home):
        reached = subprocess.run(["test", "-x", home], cwd="/", **self.as_user()).returncode == 0
        return None if reached else f"the user postgres cannot enter {home.parent}; --dir names another place"

    def run(self, program, *arguments):
        command = [postgres_programs() / program, *arguments]
        # Into a file, not a pipe: the server keeps what it inherits.
        with open(self.home / "postgres.log", "ab") as log:
            done = subprocess.run(command, cwd=self.place, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                  **self.as_user())
        if done.returncode != 0:
            sys.exit(f"{program} failed:\n{(self.home / 'postgres.log').read_text()}")

    def make(self, home):
        self.home, self.place = home, home / self.name
        if self.place.exists():
            return
        self.place.mkdir(mode=0o700)
        if os.geteuid() == 0:
            shutil.chown(self.place, "postgres", "postgres")
        self.run("initdb", "-D", ".", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale")
        with open(self.place / "postgresql.conf", "a") as settings:
            settings.write(self.SETTINGS)

    @contextlib.contextmanager
    def ready(self, home):
        self.make(home)
        self.run("pg_ctl", "-D", ".", "-w", "-t", str(PATIENCE_SECONDS), "start")
        try:
            yield self.place
        finally:
            self.run("pg_ctl", "-D", ".", "-w", "-t", str(PATIENCE_SECONDS), "-m", "fast", "stop")
            os.sync()

    def version(self, crates):
        line = subprocess.run([postgres_programs() / "postgres", "--version"], capture_output=True, text=True, check=True).stdout
        return f"{self.title} {line.split()[2]}: crate {self.crate} {crates[self.crate]}"


OSIER = Peer("osier", "Osier", "osier")
PEERS = [
    Peer("rocksdb", "RocksDB", "rocksdb", "a C++ compiler", "libclang"),
    Peer("fjall", "fjall", "fjall"),
    Peer("redb", "redb", "redb"),
    Peer("lmdb", "LMDB", "heed", "a C++ compiler"),
    Peer("sqlite", "SQLite", "rusqlite", "a C++ compiler"),
    Postgres("postgres", "PostgreSQL", "postgres", "a PostgreSQL server"),
    Redis("redis", "Redis", "redis", "a Redis server"),
]
