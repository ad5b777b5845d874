"""The servers that can be tuned: one module or folder each, with its `TARGET`.

A module that is put here is found by itself (`targets/__init__.py`).
"""
