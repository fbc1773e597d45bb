"""Local documents as a search engine: an index in one SQLite file, and the three backends that look into it."""

from __future__ import annotations
