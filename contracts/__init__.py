"""What both sides promise: schemas, golden transcripts, and one executable suite for each port."""
