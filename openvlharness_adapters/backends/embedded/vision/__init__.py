"""Seeing with rules alone: what a query means, and which shapes, words and faces stand in a picture.

::

    queries.py      the closed grammar: text to a value, or the first word that is not understood
    colours.py      which colour names and tones an RGB value may carry
    opencv.py       the one place where OpenCV is met
    working.py      the size at which a picture is looked at, and its noise
    segments.py     pixels to regions: smooth cores, and what lies between them ...
    spreading.py    ... which is a mixture of those nearby, or a thing of its own
    joining.py      ... and what of all that is one region
    labels.py       label maps
    ranks.py        medians and percentiles of small samples
    outlines.py     contour points to circle, rectangle, star ...: parametric fits and how far off they are
    regions.py      one region: colours, contour, what it touches
    background.py   what lies behind everything, and what breaks through it
    hidden.py       what a region would be if something in front, or the edge, hid the rest
    rims.py         how far beyond its outline a region reaches, by a border that looks like a blurred edge
    rings.py        one region within another: an outlined shape, a bordered one, or two
    scene.py        regions to things ...
    things.py       ... which are sets of possibilities
    matching.py     things and a query to detections, and how many cannot be told
    masks.py        masks in pixels of the picture
    words.py        text queries, on the lines that OCR read
    faces.py        frontal faces

The rule of the house is honesty before recall. Nothing here decides by a single best guess: a colour is a set of
names, a shape is a set of shapes, and a thing counts only where every member of both satisfies the query. Where some
do and some do not, it is reported as unnamed.
"""
