"""The arguments of an image: declared once beside its code, and what a job says of them."""
