"""terminal_text.py - what a program wrote to a pseudo-terminal."""
import os


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
