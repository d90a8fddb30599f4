"""The forms in which a check is printed, one module each, found by the name of the file.

A reporter has `NAME`, which is its file's name, and `render(report)`, which returns the whole text.
"""
