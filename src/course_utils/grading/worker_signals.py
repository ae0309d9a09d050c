"""Imported by the process that a pool's workers are forked from: Ctrl-C is the command's alone."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
