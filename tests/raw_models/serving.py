"""One raw model server with tiny random weights, run by the environment that has torch.

    python serving.py KIND FOLDER FULL

Makes the weights in FOLDER and serves them as the command line does. While the file FULL is there, the network asks the
allocator for more than any machine has, in the middle of its work.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

HELD_FLOATS = 64 << 20
"""What a failed call holds when it fails: 256 MiB, which can be seen from outside."""


def main() -> None:
    import tiny_models

    from openvlharness_app.building import model_servers
    from openvlharness_app.cli.main import main as command_line

    kind, folder, full = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    torch.manual_seed(0)
    torch.set_num_threads(1)
    tiny_models.MAKERS[kind](folder)
    load = model_servers._loaded

    def loaded(*arguments: Any) -> Any:
        model = load(*arguments)

        def ask_for_too_much(module: Any, given: Any) -> None:
            if full.exists():
                held = torch.ones(HELD_FLOATS)
                torch.empty(1 << 50, dtype=torch.uint8).copy_(held)

        model.network.register_forward_pre_hook(ask_for_too_much)
        return model

    model_servers._loaded = loaded
    command_line(
        ["serve", kind, "--port", "0", "--weights", str(folder), "--device", "cpu", "--max-tokens", "8"][
            : None if kind.endswith("ocr") else -2
        ]
    )


if __name__ == "__main__":
    main()
