"""One module per rule; `compiler.rules` finds them by walking this package."""
