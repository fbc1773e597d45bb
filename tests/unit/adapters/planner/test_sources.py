"""The planner knows no sample picture: nothing that stands on one stands in its source."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
MODELS = ROOT / "openvlharness_adapters" / "models"
GENERAL = {"subtotal", "total", "tax"}
"""Words that any receipt has; the planner names them for what they mean."""


def _strings() -> list[str]:
    sources = [*sorted((MODELS / "planner").glob("*.py")), MODELS / "embedded_planner.py", MODELS / "embedded_code.py"]
    trees = [ast.parse(source.read_text(encoding="utf-8")) for source in sources]
    return [
        node.value
        for tree in trees
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


def test_no_text_of_the_sample_receipt_stands_in_the_source() -> None:
    spec = importlib.util.spec_from_file_location("make_receipt", ROOT / "examples" / "data" / "make_receipt.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    source = (ROOT / "examples" / "data" / "make_receipt.py").read_text(encoding="utf-8")
    drawn = [text for text in re.findall(r'"([^"]{4,})"', source) if " " in text and "{" not in text]
    shown = {*drawn, script.SUBTOTAL, script.TAX, script.TOTAL, *(part for row in script.ROWS for part in row)}
    assert len(shown) > 10
    ours = " ".join(_strings()).casefold()
    for text in shown:
        assert text.casefold() in GENERAL or not re.search(rf"(?<!\w){re.escape(text.casefold())}(?!\w)", ours), text
