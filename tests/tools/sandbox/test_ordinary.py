"""Programs that harm nobody work behind the fence as they do without one."""

import shutil
from pathlib import Path

import pytest

from .conftest import Run

PYTHON = {
    "prints": ("print('hello')", "hello\n"),
    "writes and reads in the workspace": (
        "open('a.txt', 'w').write('kept')\nprint(open('a.txt').read(), open('WORKSPACE/a.txt').read())",
        "kept kept\n",
    ),
    "makes folders, moves and deletes": (
        "import os, shutil\nos.makedirs('a/b')\nopen('a/b/f', 'w').close()\nos.rename('a/b/f', 'a/g')\n"
        "shutil.move('a/g', 'h')\nshutil.rmtree('a')\nprint(os.listdir('.'))",
        "['h']\n",
    ),
    "imports a module beside it": ("open('mine.py', 'w').write('x = 3')\nimport mine\nprint(mine.x)", "3\n"),
    "starts a process": (
        "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(6 * 7)'], capture_output=True, text=True).stdout)",
        "42\n\n",
    ),
    "uses a shell": ("import os\nprint(os.popen('echo $((1 + 2)) | cat').read())", "3\n\n"),
    "starts threads": (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(16) as pool:\n    print(sum(pool.map(lambda n: n * n, range(100))))",
        "328350\n",
    ),
    "computes in a pool of processes": (
        "from multiprocessing import Pool\ndef square(n): return n * n\n"
        "if __name__ == '__main__':\n    with Pool(4) as pool:\n        print(pool.map(square, range(5)))",
        "[0, 1, 4, 9, 16]\n",
    ),
    "talks to a process by a queue": (
        "from multiprocessing import Process, Queue\ndef put(queue): queue.put('from the child')\n"
        "queue = Queue()\nchild = Process(target=put, args=(queue,))\nchild.start()\nprint(queue.get())\nchild.join()",
        "from the child\n",
    ),
    "spawns processes": (
        "import multiprocessing\ndef square(n): return n * n\nif __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(2) as pool:\n        print(pool.map(square, [3]))",
        "[9]\n",
    ),
    "shares memory between processes": (
        "from multiprocessing import Process, Value, Array, shared_memory\n"
        "def change(value, block):\n    value.value = 7\n    mine = shared_memory.SharedMemory(block)\n    mine.buf[0] = 9\n    mine.close()\n"
        "value = Value('i', 0)\nblock = shared_memory.SharedMemory(create=True, size=64)\n"
        "child = Process(target=change, args=(value, block.name))\nchild.start()\nchild.join()\n"
        "print(value.value, block.buf[0])\nblock.close()\nblock.unlink()",
        "7 9\n",
    ),
    "runs a server of objects": (
        "from multiprocessing import Manager\nif __name__ == '__main__':\n    with Manager() as manager:\n"
        "        shared = manager.dict(a=1)\n        shared['b'] = 2\n        print(dict(shared))",
        "{'a': 1, 'b': 2}\n",
    ),
    "reads and writes json and csv": (
        "import csv, io, json\nprint(json.dumps({'a': [1, 2]}))\nprint(list(csv.reader(io.StringIO('a,b'))))",
        '{"a": [1, 2]}\n[[\'a\', \'b\']]\n',
    ),
    "keeps a database": (
        "import sqlite3\nbase = sqlite3.connect('data.db')\nbase.execute('create table t (n)')\n"
        "base.execute('insert into t values (5)')\nbase.commit()\nprint(base.execute('select n from t').fetchall())",
        "[(5,)]\n",
    ),
    "uses temporary files": (
        "import os, tempfile\nwith tempfile.TemporaryDirectory() as folder:\n"
        "    path = os.path.join(folder, 'x')\n    open(path, 'w').write('tmp')\n    print(open(path).read())\n"
        "with tempfile.NamedTemporaryFile('w+') as file:\n    file.write('again')\n    file.seek(0)\n    print(file.read())",
        "tmp\nagain\n",
    ),
    "copies files with their dates and modes": (
        "import os, shutil\nopen('a', 'w').write('x')\nos.utime('a', (1e9, 1e9))\nos.chmod('a', 0o600)\nshutil.copy2('a', 'b')\n"
        "os.mkdir('d')\nshutil.copytree('d', 'e')\nstatus = os.stat('b')\nprint(int(status.st_mtime), oct(status.st_mode & 0o777))",
        "1000000000 0o600\n",
    ),
    "makes a script and runs it": (
        "import os, subprocess\nopen('go.sh', 'w').write('#!/bin/sh\\necho went')\nos.chmod('go.sh', 0o755)\n"
        "print(subprocess.check_output('./go.sh').decode())",
        "went\n\n",
    ),
    "packs and unpacks": (
        "import shutil, os\nos.mkdir('in')\nopen('in/f', 'w').write('z')\nshutil.make_archive('pack', 'gztar', 'in')\n"
        "shutil.unpack_archive('pack.tar.gz', 'out')\nprint(open('out/f').read())",
        "z\n",
    ),
    "runs coroutines and their processes": (
        "import asyncio\nasync def main():\n    await asyncio.sleep(0.01)\n"
        "    child = await asyncio.create_subprocess_exec('echo', 'async', stdout=-1)\n"
        "    print((await child.communicate())[0].decode())\nasyncio.run(main())",
        "async\n\n",
    ),
    "has what the standard library is used for": (
        "import ctypes, dataclasses, datetime, decimal, fractions, hashlib, itertools, random, re, secrets, ssl, statistics\n"
        "import time, unittest, urllib.request, uuid, zoneinfo, zlib, lzma, bz2, platform, getpass, pwd, locale\n"
        "print(len(str(uuid.uuid4())), len(secrets.token_hex(4)), zoneinfo.ZoneInfo('Europe/Berlin'), platform.system())",
        "36 8 Europe/Berlin Linux\n",
    ),
    "asks who and where it is": (
        "import os, pathlib\nprint(os.path.expanduser('~') == str(pathlib.Path.home()) == os.getcwd() == 'WORKSPACE', os.cpu_count() > 0)",
        "True True\n",
    ),
    "ends with its own status after cleaning up": (
        "import atexit, sys\natexit.register(print, 'bye')\nclass Last:\n    def __del__(self): print('last')\nlast = Last()\nprint('work')",
        "work\nbye\nlast\n",
    ),
    "starts a daemon thread": (
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\nprint('done')",
        "done\n",
    ),
    "speaks unicode": ("print('žluťoučký 🐎')\nprint(open(__file__, encoding='utf-8').read().count('🐎'))", "žluťoučký 🐎\n2\n"),
    "handles signals of its own": (
        "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: print('got it'))\nos.kill(os.getpid(), signal.SIGUSR1)",
        "got it\n",
    ),
    "stops a child of its own": (
        "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\nchild.terminate()\nprint(child.wait())",
        "-15\n",
    ),
    "uses sockets within itself": (
        "import socket\na, b = socket.socketpair()\na.sendall(b'ping')\nprint(b.recv(4))",
        "b'ping'\n",
    ),
    "uses named pipes": (
        "import os, threading\nos.mkfifo('pipe')\nthreading.Thread(target=lambda: open('pipe', 'w').write('through')).start()\n"
        "print(open('pipe').read())",
        "through\n",
    ),
    "follows links in the workspace": (
        "import os\nopen('a', 'w').write('x')\nos.symlink('a', 'b')\nos.link('a', 'c')\nprint(open('b').read(), os.stat('c').st_nlink)",
        "x 2\n",
    ),
    "maps and truncates files": (
        "import mmap\nwith open('m', 'w+b') as file:\n    file.truncate(4096)\n    with mmap.mmap(file.fileno(), 0) as map:\n"
        "        map[:3] = b'abc'\nprint(open('m', 'rb').read(3))",
        "b'abc'\n",
    ),
    "pickles its own classes": (
        "import pickle, dataclasses\n@dataclasses.dataclass\nclass Point:\n    x: int\nprint(pickle.loads(pickle.dumps(Point(3))))",
        "Point(x=3)\n",
    ),
    "writes to the null device": ("print('x', file=open('/dev/null', 'w'))\nprint(open('/dev/null').read() == '')", "True\n"),
    "reads nothing from stdin": ("import sys\nprint(repr(sys.stdin.read()))", "''\n"),
    "uses a hundred megabytes": ("data = bytearray(100_000_000)\nprint(len(data))", "100000000\n"),
}  # fmt: skip

BASH = {
    "pipes": ("printf 'b\\na\\n' | sort | tr a-z A-Z", "A\nB\n"),
    "stops a pipe early": ("yes | head -n 2; seq 1000000 | head -n 1", "y\ny\n1\n"),
    "has arrays, arithmetic and functions": ("a=(1 2 3); f() { echo $(( $1 * 2 )); }; f ${a[2]}", "6\n"),
    "reads documents within": ("cat <<END\nhere $((1+1))\nEND\nwc -c <<< abc", "here 2\n4\n"),
    "substitutes processes": ("diff <(echo a) <(echo a) && paste <(echo 1) <(echo 2)", "1\t2\n"),
    "edits and finds files": (
        "mkdir -p src; echo one > src/a.txt; sed -i s/one/two/ src/a.txt; grep -r two .; find . -name '*.txt'",
        "./src/a.txt:two\n./src/a.txt\n",
    ),
    "makes a script and runs it": ("printf '#!/bin/bash\\necho ran' > s.sh; chmod +x s.sh; ./s.sh", "ran\n"),
    "touches, copies and packs": (
        "echo x > a; touch -d 2001-02-03 a; cp -p a b; tar czf p.tgz a b; mkdir t; tar xzf p.tgz -C t; date -r t/b +%F",
        "2001-02-03\n",
    ),
    "runs jobs in the background": ("sleep 0.05 & wait; echo waited", "waited\n"),
    "starts python": ("python3 -c 'print(2 ** 10)'", "1024\n"),
    "uses a temporary file": ('f=$(mktemp); echo t > "$f"; cat "$f"; rm "$f"', "t\n"),
    "traps its end": ("trap 'echo bye' EXIT; echo hi", "hi\nbye\n"),
    "asks the time": ("date +%Y | grep -c 20; TZ=UTC date -d @0 +%F", "1\n1970-01-01\n"),
    "makes a repository": (
        "export GIT_CONFIG_NOSYSTEM=1; git init -q . && git -c user.name=a -c user.email=b commit -q --allow-empty -m first && git log --format=%s",
        "first\n",
    ),
}

NODE = {
    "prints": ("console.log('hi', 6 * 7)", "hi 42\n"),
    "writes and reads in the workspace": (
        "const fs = require('fs'); fs.writeFileSync('a', 'kept'); console.log(fs.readFileSync('a', 'utf8'))",
        "kept\n",
    ),
    "copies files": (
        "const fs = require('fs'); fs.writeFileSync('a', 'x'); fs.copyFileSync('a', 'b'); fs.chmodSync('b', 0o600);"
        "console.log(fs.readFileSync('b', 'utf8'))",
        "x\n",
    ),
    "waits": ("setTimeout(() => console.log('later'), 20); Promise.resolve().then(() => console.log('soon'))", "soon\nlater\n"),
    "starts a process": ("console.log(require('child_process').execSync('echo shell').toString())", "shell\n\n"),
    "starts a worker": (
        "const {Worker, isMainThread, parentPort} = require('worker_threads');"
        "if (isMainThread) new Worker(__filename).on('message', m => console.log(m)); else parentPort.postMessage('worked')",
        "worked\n",
    ),
    "asks about the machine": ("const os = require('os'); console.log(os.cpus().length > 0, os.totalmem() > 0)", "true true\n"),
    "requires a module beside it": (
        "require('fs').writeFileSync('mine.js', 'module.exports = 3'); console.log(require('./mine.js'))",
        "3\n",
    ),
    "streams and packs": (
        "const z = require('zlib'); console.log(z.gunzipSync(z.gzipSync('abc')).toString(), require('crypto').randomUUID().length)",
        "abc 36\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PYTHON)
async def test_a_python_program(name: str, run: Run) -> None:
    code, expected = PYTHON[name]
    outcome = await run(code)
    assert (outcome.stdout, outcome.stderr, outcome.exit_code, outcome.killed_because) == (expected, "", 0, "")


@pytest.mark.parametrize("name", BASH)
async def test_a_shell_script(name: str, run: Run) -> None:
    code, expected = BASH[name]
    outcome = await run(code, "bash")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code, outcome.killed_because) == (expected, "", 0, "")


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize("name", NODE)
async def test_a_node_program(name: str, run: Run) -> None:
    code, expected = NODE[name]
    outcome = await run(code, "javascript")
    assert (outcome.stdout, outcome.stderr, outcome.exit_code, outcome.killed_because) == (expected, "", 0, "")


async def test_what_a_program_leaves_in_the_workspace_is_there_for_the_next(run: Run, workspace: Path) -> None:
    await run("open('kept.txt', 'w').write('for later')")
    assert (await run("cat kept.txt", "bash")).stdout == "for later"
    assert [path.name for path in workspace.iterdir()] == ["kept.txt"]


async def test_a_traceback_shows_the_program_and_nothing_of_ours(run: Run) -> None:
    outcome = await run("def f():\n    return 1 / 0\nf()")
    assert outcome.exit_code == 1
    assert outcome.stderr.startswith("Traceback (most recent call last):\n  File")
    assert outcome.stderr.count("File ") == 2
    assert outcome.stderr.endswith("ZeroDivisionError: division by zero\n")


async def test_a_syntax_error_is_an_outcome(run: Run) -> None:
    outcome = await run("print(")
    assert outcome.exit_code == 1
    assert "SyntaxError: '(' was never closed" in outcome.stderr


async def test_the_exit_code_is_the_programs_own(run: Run) -> None:
    assert (await run("import sys; sys.exit(7)")).exit_code == 7
    assert (await run("exit 9", "bash")).exit_code == 9
    assert (await run("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")).exit_code == -15
