"""`openvlharness corpus`: the index of local documents that the embedded search looks into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openvlharness_app.cli.options import fail, print_json

if TYPE_CHECKING:
    from openvlharness_adapters.backends.embedded.corpus.building import IndexSummary

DEFAULT_INDEX = "openvlharness-corpus.sqlite"
_SHOWN = 20

index_option = click.option(
    "--index", default=DEFAULT_INDEX, show_default=True, metavar="FILE", help="The index, made if it is not there."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@click.group()
def command() -> None:
    """Make and look at an index of local documents and pictures.

    \b
    openvlharness corpus add notes/ manual.pdf photos/
    """


@command.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@index_option
@json_option
def add(paths: tuple[str, ...], index: str, as_json: bool) -> None:
    """Add files and folders: text, Markdown, HTML, PDF, pictures. A path added before is brought up to date.

    Ends with 1 if nothing of them could be indexed, with 0 if only some files were left out.
    """
    from openvlharness_adapters.backends.embedded.corpus.building import build_index
    from openvlharness_adapters.imaging.thumbnails import Thumbnails
    from openvlharness_core import HarnessError

    thumbnails = Thumbnails()
    try:
        summary = build_index(paths, index, decode=thumbnails.decoded, thumbnail=thumbnails.small)
    except HarnessError as error:
        fail(str(error))
    if as_json:
        import attrs

        print_json({"index": index, **attrs.asdict(summary)})
    else:
        _say(summary)
        click.echo(f"{index}: {summary.documents} documents, {summary.pictures} pictures")
    if summary.left_out and not summary.added + summary.changed + summary.unchanged:
        raise SystemExit(1)


@command.command("list")
@index_option
@json_option
def list_documents(index: str, as_json: bool) -> None:
    """List what an index holds."""
    from openvlharness_adapters.backends.embedded.corpus.index import all_documents
    from openvlharness_adapters.backends.embedded.corpus.store import reading
    from openvlharness_core import HarnessError

    try:
        with reading(Path(index)) as connection:
            documents = [document for document, _ in all_documents(connection)]
    except HarnessError as error:
        fail(str(error))
    if as_json:
        print_json([{"url": d.url, "title": d.title, "kind": d.kind, "note": d.note} for d in documents])
        return
    for document in documents:
        click.echo(f"{document.url}  {document.title} ({document.kind})")


def _say(summary: IndexSummary) -> None:
    """What happened, on stderr."""
    counts = (
        ("added", summary.added),
        ("changed", summary.changed),
        ("unchanged", summary.unchanged),
        ("removed", summary.removed),
        ("copies of others", summary.duplicates),
        ("left out", len(summary.left_out)),
    )
    click.echo(", ".join(f"{count} {name}" for name, count in counts if count) or "nothing to add", err=True)
    said = [*summary.left_out, *summary.notes]
    for entry in said[:_SHOWN]:
        click.echo(f"  {entry.path}: {entry.reason}", err=True)
    if len(said) > _SHOWN:
        click.echo(f"  and {len(said) - _SHOWN} more", err=True)
