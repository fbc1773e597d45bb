"""Writes the schemas: `python -m contracts.schemas`."""

from __future__ import annotations

from pathlib import Path

from .documents import document_text, schema_documents


def main() -> None:
    """Write every schema into this folder."""
    folder = Path(__file__).parent
    for name, schema in schema_documents().items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(document_text(schema), encoding="utf-8")


if __name__ == "__main__":
    main()
