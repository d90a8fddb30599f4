"""Who may hold how much, who holds it, and what would fit.

All numbers are whole accelerators, or exact fractions of hours; nothing is ever rounded.
"""
