"""A child that does to itself what a message says; run by ``python -m tests.processes.a_child``."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

from autotune_lab.errors import DefinitionError, NoDevice
from autotune_lab.processes import serve


def open_handler(arguments):
    if "no_device" in arguments:
        raise NoDevice("there is no such device")
    if "slow_start" in arguments:
        time.sleep(1.5)
    if "dead_start" in arguments:
        print("can't load the compiler")
        os._exit(9)
    return handle


def handle(message, progress):  # noqa: C901 - one case each
    match message["do"]:
        case "echo":
            return {"said": message["text"], "pid": os.getpid(), "group": os.getpgrp()}
        case "environment":
            return {"value": os.environ.get(message["name"])}
        case "abort":
            os.abort()
        case "exit":
            print("leaving with", message["code"], flush=True)
            os._exit(message["code"])
        case "segfault":
            progress(7)
            ctypes.string_at(0)
        case "hang":
            progress(3)
            time.sleep(600)
        case "hang_holding_the_lock":
            libc = ctypes.PyDLL(None)  # keeps the interpreter lock, as a compiler in C++ may
            libc.sleep(600)
        case "print":
            print("x" * 99 + "\n", end="", flush=True)
            sys.stdout.write(("y" * 99 + "\n") * 2000)
            sys.stdout.flush()
            return {"printed": True}
        case "grandchild":
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(message["path"]).write_text(str(child.pid))
            time.sleep(600)
        case "bad_definition":
            raise DefinitionError("kernel 'x'", ["one fault", "another"])
        case "raise":
            raise KeyError("nothing catches this")
        case "garbage":
            os.write(int(sys.argv[2]), b"\xff\xff\xff\xff no frame")
            time.sleep(600)
    return {}


if __name__ == "__main__":
    serve(open_handler)
