"""Pre-training of a GPT: what train.py and pack.py are made of."""
