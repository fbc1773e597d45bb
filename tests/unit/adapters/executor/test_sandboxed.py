"""What a sandboxed program cannot do, and what it still can."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from openvlharness_adapters.executor import landlock, sandbox, seccomp, spawned, warm
from openvlharness_adapters.executor.local import LocalExecutor
from openvlharness_adapters.executor.sandboxed import SandboxedExecutor
from openvlharness_core.errors import BackendUnavailableError

LONG_SECONDS = 60.0


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with a key beside the working directories; this user may read and write it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    file = tmp_path / "key.txt"
    file.write_text("CANARY-KEY")
    file.chmod(0o600)
    return file


@pytest.fixture
def port() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


REFUSED = {
    "read": "print(open(PLANTED).read())",
    "write": "open(PLANTED, 'a').write('x')",
    "truncate": "import os\nos.truncate(PLANTED, 0)",
    "remove": "import os\nos.unlink(PLANTED)",
    "rename": "import os\nos.rename(PLANTED, 'mine')",
    "link": "import os\nos.link(PLANTED, 'mine')",
    "through a symlink": "import os\nos.symlink(PLANTED, 'mine')\nprint(open('mine').read())",
    "owner": "import os\nos.chown(PLANTED, os.getuid(), os.getgid())",
    "new file beside": "open(PLANTED + '.new', 'w')",
    "list": "import os\nprint(os.listdir(os.path.dirname(PLANTED)))",
    "password file": "print(open('/etc/passwd').read())",
    "project": "import os\nprint(os.listdir(os.path.dirname(PROJECT)), open(PROJECT).read())",
    "program of another": "import subprocess\nsubprocess.run(['/bin/sh', '-c', f'cat {PLANTED}'], check=True)",
    "connection": "import socket\nsocket.create_connection(('127.0.0.1', PORT))",
    "datagram": "import socket\nsocket.socket(type=socket.SOCK_DGRAM)",
    "unix socket": "import socket\nsocket.socket(socket.AF_UNIX)",
    "datagram pair": "import socket\nsocket.socketpair(type=socket.SOCK_DGRAM)",
    "init's memory": "open(f'/proc/{os.getppid()}/mem' if (os := __import__('os')) else '', 'rb').read(1)",
    "other process": "import os\nos.kill(TEST_PROCESS, 0)",
}


def _left_beside(planted: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in planted.parent.iterdir()}


@pytest.mark.parametrize("kind", REFUSED)
async def test_it_may_not(planted: Path, port: int, kind: str) -> None:
    names = {"PLANTED": str(planted), "PROJECT": __file__, "PORT": port, "TEST_PROCESS": os.getpid()}
    outcome = await SandboxedExecutor().run(REFUSED[kind], names, LONG_SECONDS)
    assert outcome.error is not None
    assert any(told in outcome.error for told in ("PermissionError", "OSError", "ProcessLookupError")), outcome.error
    assert "CANARY" not in outcome.stdout + outcome.stderr
    assert _left_beside(planted) == {"key.txt": "CANARY-KEY"}


@pytest.mark.parametrize("kind", ["read", "write", "connection"])
async def test_the_local_executor_may(planted: Path, port: int, kind: str) -> None:
    """Else the test above would show nothing."""
    outcome = await LocalExecutor().run(REFUSED[kind], {"PLANTED": str(planted), "PORT": port}, LONG_SECONDS)
    assert outcome.error is None


async def test_system_calls_that_it_goes_without() -> None:
    program = (
        "import ctypes, errno\nlibrary = ctypes.CDLL(None, use_errno=True)\n"
        "def refused(result): return result == -1 and errno.errorcode[ctypes.get_errno()]\n"
        "print(refused(library.ptrace(0, 0, 0, 0)), refused(library.unshare(0x10000000)),"
        " refused(library.syscall(425, 1, 0)), refused(library.syscall(438, 0, 0, 0)), refused(library.syscall(435, 0, 0)),"
        " refused(library.mount(b'none', b'/', None, 0, None)), refused(library.shmget(0, 4096, 0o1600)))"
    )
    outcome = await SandboxedExecutor().run(program, {}, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == ("EPERM EPERM EPERM EPERM ENOSYS EPERM EPERM\n", None)


async def test_rights_and_times_of_files_stay_and_nobody_minds(planted: Path) -> None:
    before = os.stat(planted)
    outcome = await SandboxedExecutor().run("import os\nos.chmod(f, 0o777); os.utime(f, (1, 1))", {"f": str(planted)})
    assert outcome.error is None
    after = os.stat(planted)
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)


async def test_it_may_work(planted: Path) -> None:
    program = (
        "import asyncio, os, subprocess, sys, threading\nfrom openvlharness_core.code_helpers import box_iou\n"
        "Image.new('RGB', (3, 3)).save('a.png')\nos.mkdir('d'); open('d/f', 'w').write('x'); os.rename('d/f', 'g'); os.rmdir('d')\n"
        "thread = threading.Thread(target=print, args=('thread',)); thread.start(); thread.join()\n"
        "print(subprocess.run([sys.executable, '-c', 'import sys; print(6 * 7)'], capture_output=True, text=True).stdout.strip())\n"
        "print(asyncio.run(asyncio.sleep(0, 'loop')), float(box_iou([[0, 0, 1, 1]], [[0, 0, 1, 1]])[0, 0]), np.linalg.det(np.eye(2)))"
    )
    outcome = await SandboxedExecutor().run(program, {}, LONG_SECONDS)
    assert (outcome.stdout, outcome.error) == ("thread\n42\nloop 1.0 1.0\n", None)
    assert [name for name, _ in outcome.images] == ["a.png"]


async def test_it_holds_without_namespaces_too(planted: Path) -> None:
    executor = SandboxedExecutor(kill_level="signal_scope")
    outcome = await executor.run(REFUSED["read"], {"PLANTED": str(planted)}, LONG_SECONDS)
    assert outcome.error is not None
    assert "PermissionError" in outcome.error
    assert outcome.kill_level == "signal_scope"


async def test_it_refuses_to_run_where_it_cannot_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = SandboxedExecutor()
    with pytest.raises(BackendUnavailableError, match=r"python_executor_sandboxed.*PID namespaces"):
        await SandboxedExecutor(kill_level="subreaper").run("print(1)", {}, LONG_SECONDS)
    with monkeypatch.context() as machine:
        machine.setattr(landlock, "abi", lambda: 2)
        with pytest.raises(
            BackendUnavailableError, match="Landlock in version 3 or later is needed, and this kernel offers 2"
        ):
            await executor.run("print(1)", {}, LONG_SECONDS)
    with monkeypatch.context() as machine:
        machine.setattr("platform.machine", lambda: "riscv64")
        with pytest.raises(BackendUnavailableError, match="no filter of system calls for riscv64"):
            await executor.run("print(1)", {}, LONG_SECONDS)
    with monkeypatch.context() as machine:
        machine.setattr(warm, "find_obstacle", lambda *_: "unshare: Operation not permitted")
        machine.setattr(spawned, "level_here", lambda: "subreaper")
        with pytest.raises(BackendUnavailableError, match="no sandbox here"):
            await executor.run("print(1)", {}, LONG_SECONDS)


def test_both_architectures_name_the_same_calls() -> None:
    """But for those that only the older of the two has."""
    only_there = {
        "chmod", "chown", "futimesat", "ioperm", "iopl", "lchown", "modify_ldt", "utime", "utimes"
    }  # fmt: skip
    assert seccomp._X86_64.keys() - seccomp._AARCH64.keys() == only_there
    assert seccomp._AARCH64.keys() <= seccomp._X86_64.keys()
    assert len(seccomp.find_filter() or b"") % 8 == 0


def test_no_folder_of_the_search_path_is_readable_as_a_whole() -> None:
    assert str(Path(__file__).parents[4]) not in sandbox._packages()
