"""What train.py and dpo.py are made of."""
