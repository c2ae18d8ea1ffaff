"""Runs a command that dies with the process that started it, however that one dies, and also while it is frozen.

usage: tied.py <process id of the starter> <command> [<argument>...]

Linux keeps the order (PR_SET_PDEATHSIG) over an exec; kill -9 of the starter reaches the command as kill -9.
"""
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
# The starter may have died before the order was given.
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
