"""terminal_text.py - a pseudo-terminal, and what a program wrote to it."""
import os
import pty
import sys


def open_terminal():
    """(leader, follower). A machine without pseudo-terminals ends the test as skipped; so does S2_NO_TERMINAL=1."""
    try:
        if os.environ.get("S2_NO_TERMINAL"):
            raise OSError("S2_NO_TERMINAL is set")
        return pty.openpty()
    except OSError as error:
        print(f"skipped: no pseudo-terminals: {error}")
        sys.exit(77)


def read_all(leader):
    """Everything up to the end of the last writer, which Linux reports as an error; closes the leader."""
    text = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    os.close(leader)
    return text
