"""The version, shared by the package and its build."""
__version__ = "0.1.0"
