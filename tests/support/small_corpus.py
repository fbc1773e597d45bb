"""A dozen documents about an invented town, and pictures drawn for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from contracts.ports.pictures import png_of

DOCUMENTS = {
    "town/harbour.md": "# The harbour of Velm\n\nThe harbour was dredged in 1887 so that steamers could land. Its breakwater is 410 metres long.\n\nThe lighthouse keeper lived in the customs house until 1932.",
    "town/bridge.txt": "The Kestrel bridge crosses the river Ommer on nine arches. Ida Brandt designed it, and the granite came from the Sorrel quarry.\n\nIt replaced a ferry that two brothers had run for thirty years.",
    "town/market.html": "<!doctype html><html><head><title>Market days</title><style>p{color:red}</style></head><body><h1>Market days</h1><p>The cheese market opens on the second Thursday of October.</p><script>var hidden='wombat'</script><p>Stalls are drawn by lot &amp; may not be sold.</p></body></html>",
    "nature/otters.md": "---\nlayout: page\n---\n# Otters\n\nOtters came back to the Ommer after the paper mill closed. Wardens counted 14 holts in the spring survey.\n\n![An otter with a trout on the weir](../pictures/otter.png)",
    "nature/orchard.txt": "Grey Pippin apples keep until March. The orchard association grafts new trees each February and gives the cuttings away.",
    "nature/weather.txt": "The wettest month on record was November 1951 with 288 millimetres of rain. Fog closes the pass for about forty days.",
    "school/telescope.txt": "The school telescope has a mirror of 30 centimetres. Pupils ground it by hand during two winters.",
    "school/choir.txt": "The choir rehearses in the granary. Its conductor, Marta Quill, wrote the harvest cantata.",
    "crafts/glass.md": "## Glass\n\nThe glassworks fires its furnace with beech wood. Cobalt gives the blue of the Velm goblets.",
    "crafts/looms.txt": "Looms from the old weaving mill stand in the museum. The widest wove sailcloth of two metres.",
    "reise/karte.txt": "Die Straßenbahn fährt alle zwölf Minuten zum Bahnhof. Fahrkarten verkauft der Kiosk am Rathausplatz.",
    "asia/tea.txt": "京都の茶室は竹林の奥に建っている。\n\n职业茶师每天清晨采摘嫩叶。",
}
INSIDE = {
    "How long is the breakwater of the harbour?": "town/harbour.md",
    "Who designed the Kestrel bridge?": "town/bridge.txt",
    "When does the cheese market open?": "town/market.html",
    "How many holts did the wardens count in the survey?": "nature/otters.md",
    "Until which month do Grey Pippin apples keep?": "nature/orchard.txt",
    "What was the wettest month, and how many millimetres of rain fell?": "nature/weather.txt",
    "How large is the mirror of the school's telescope?": "school/telescope.txt",
    "Who wrote the harvest cantata?": "school/choir.txt",
    "Which metal makes the goblets blue: cobalt?": "crafts/glass.md",
    "Wo verkauft der Kiosk Fahrkarten für die Straßenbahn?": "reise/karte.txt",
    "京都の茶室": "asia/tea.txt",
}
OUTSIDE = (
    "What is the capital of Mongolia?",
    "Who won the football world cup in 1998?",
    "How do vaccines train the immune system?",
    "Which programming language did Guido van Rossum create?",
    "What is the boiling point of ethanol?",
    "When did the Apollo 11 mission reach the moon?",
    "Who painted the ceiling of the Sistine chapel?",
    "How tall is the Eiffel tower in Paris?",
    "What does the mitochondrion do in a cell?",
    "Which airline flies from Lisbon to Recife?",
    "How is sourdough bread leavened?",
    "What year was the transistor invented at Bell Labs?",
    "Who is the chief executive of the largest bank in Japan?",
    "How many strings does a violin have?",
    "Where do emperor penguins breed?",
    "What is the plot of Hamlet?",
    "Which company makes the Leica camera?",
    "Explain the difference between TCP and UDP",
    "北京的人口有多少",
    "Wie hoch ist die Zugspitze?",
)


def write_corpus(folder: Path) -> Path:
    """The documents and three pictures below `folder`; returns the corpus's root."""
    root = folder / "velm"
    for place, text in DOCUMENTS.items():
        file = root / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    pictures = root / "pictures"
    pictures.mkdir()
    for name, seed in (("otter", 1), ("old_pier", 2), ("goblets", 3)):
        (pictures / f"{name}.png").write_bytes(png_of(drawn(seed)))
    return root


def drawn(seed: int, height: int = 240, width: int = 320) -> NDArray[np.uint8]:
    """A colourful picture of its own for every seed: large soft areas with rectangles on them."""
    rng = np.random.default_rng(seed)
    rows, columns = np.mgrid[0:height, 0:width]
    waves = [np.sin(rows * a + columns * b + c) for a, b, c in rng.uniform(-0.04, 0.04, (3, 3)) * [1, 1, 60]]
    picture = 128 + 60 * np.stack(waves, axis=2)
    for _ in range(60):
        y, x = rng.integers(0, height - 12), rng.integers(0, width - 12)
        h, w = rng.integers(6, 40, 2)
        picture[y : y + h, x : x + w] = rng.integers(0, 256, 3)
    return np.clip(picture, 0, 255).astype(np.uint8)
