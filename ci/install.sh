#!/bin/sh
# install.sh CHECKOUT - makes CHECKOUT/.venv with the compiler that the checkout names: its own
# source, where it is the compiler's home, else what its requirements.txt pins.
set -eu
cd "$1"

if [ -f tools/setup.py ]; then
    make setup
    # Builds the overlays; kubectl has one, too, and so have many runners.
    .venv/bin/python tools/install.py --if-missing kustomize
else
    "${PYTHON:-python3}" -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
fi
.venv/bin/runwright --version
