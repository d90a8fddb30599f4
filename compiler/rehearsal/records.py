"""What a rehearsal leaves behind where a folder is named: logs, the account, the picture."""

from __future__ import annotations

from pathlib import Path

from compiler.jsontext import json_text
from compiler.rehearsal.picture import svg
from compiler.rehearsal.playing import Played


def keep(played: Played, folder: Path) -> list[str]:
    """Write them into a folder, which is made; the names of the files, those before replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    account = played.account
    files = {f"node-{index}.log": text for index, text in played.logs.items()}
    files["rehearse.json"] = json_text(account.as_dict())
    files["rehearse.txt"] = account.text()
    if account.points:
        title = f"{account.name}: loss, as rehearsed"
        files["loss.svg"] = svg(account.points, title, played.starts)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return sorted(files)
