"""A rehearsal: the rendered job of a declaration, run on this machine for a minute.

It runs the code of the job by purpose, which no other part of the compiler ever does. Nothing here
is imported by the stages that judge declarations.
"""
