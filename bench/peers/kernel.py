"""The work of tasks: compiled functions of the library that PEERS_LIBRARY names, called by ctypes, which releases
Python's lock meanwhile."""

import ctypes
import os

_library = ctypes.CDLL(os.environ["PEERS_LIBRARY"])
_library.peers_spin.argtypes = [ctypes.c_uint64, ctypes.c_uint64]
_library.peers_spin.restype = ctypes.c_uint64
_library.peers_queens.argtypes = [ctypes.c_uint32, ctypes.c_uint32, ctypes.c_uint64]
_library.peers_queens.restype = ctypes.c_uint64
_library.peers_uts.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64]
_library.peers_uts.restype = ctypes.c_uint64
_library.peers_uts_children.argtypes = [ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64]
_library.peers_uts_children.restype = ctypes.c_uint64


def spin(turns, seed):
    return _library.peers_spin(turns, seed)


def queens(size, rows, prefix):
    return _library.peers_queens(size, rows, prefix)


def uts(tree, depth, path):
    return _library.peers_uts(tree, depth, path)


def uts_children(tree, depth, path):
    return _library.peers_uts_children(tree, depth, path)
