"""Two small corpora about invented places, with questions that they answer and questions that they only seem to answer."""

from __future__ import annotations

import attrs

Pages = dict[str, str]


@attrs.frozen(kw_only=True)
class Shelf:
    """Pages by their titles, questions with a word of the sentence that answers them, and questions beside them."""

    pages: Pages
    inside: dict[str, str]
    outside: tuple[str, ...]


OBSERVATORY = Shelf(
    pages={
        "Sarn Observatory": (
            "Sarn Observatory\n\nThe Sarn Observatory opened on 12 June 1908 above the village of Corl. It was founded by Hedda "
            "Quist. It is 1,870 metres above the sea. Its largest telescope was built by Osker Brand in 1911.\n\n"
            "The director since 2016 is Mirela Toth. The observatory owns nine telescopes and 3,200 glass plates. The library was "
            "closed in 1974 and has never reopened.\n\n"
            "The dome, painted white, turns on 24 wheels. The dome motors were renewed in 1996. Comet Vane was discovered here in 1933 by Pavel Ruud. The guard, who "
            "was born in 1951, lives in Corl."
        ),
        "Corl": (
            "Corl has 640 inhabitants. The mayor of Corl is Ana Brisk. The oldest house in Corl was built in 1702. The baker of "
            "Corl supplies the Sarn Observatory with bread.\n\nThe road to Corl was widened in 1988. Jon Petri wrote the anthem of "
            "Corl. Hedda Quist died in Corl in 1940."
        ),
        "Festivals": "The plum fair is held in September. The lantern walk draws 900 visitors, and the plum fair draws 4,000 visitors.",
    },
    inside={
        "When did the Sarn Observatory open?": "12 June 1908",
        "When was the Sarn Observatory opened?": "12 June 1908",
        "Who founded the Sarn Observatory?": "Hedda Quist",
        "Who is the director of the Sarn Observatory?": "Mirela Toth",
        "Who was the Sarn Observatory founded by?": "Hedda Quist",
        "How many telescopes does the Sarn Observatory own?": "nine telescopes",
        "How many inhabitants does Corl have?": "640 inhabitants",
        "Who is the mayor of Corl?": "Ana Brisk",
        "When was the oldest house in Corl built?": "1702",
        "Who wrote the anthem of Corl?": "Jon Petri",
        "Who discovered Comet Vane?": "Pavel Ruud",
        "When was Comet Vane discovered?": "1933",
        "When did Hedda Quist die?": "1940",
        "Where did Hedda Quist die?": "in Corl",
        "When is the plum fair held?": "September",
        "How many visitors does the plum fair draw?": "4,000 visitors",
        "When was the road to Corl widened?": "1988",
        "What supplies the Sarn Observatory with bread?": "baker",
    },
    outside=(
        "When was Hedda Quist founded?",
        "When was Osker Brand built?",
        "Who built Comet Vane?",
        "Who built the oldest house in Corl?",
        "When was Corl opened?",
        "When was Corl widened?",
        "Who painted the dome?",
        "Who painted the Sarn Observatory?",
        "How many paintings does the Sarn Observatory own?",
        "How many directors does the Sarn Observatory have?",
        "How many comets were discovered?",
        "How many inhabitants does Sarn have?",
        "How many observatories were founded by Hedda Quist?",
        "Who closed the library?",
        "When was the Sarn Observatory closed?",
        "When did the library reopen?",
        "Who is the director of Corl?",
        "Who is the mayor of the Sarn Observatory?",
        "Who was the director of the Sarn Observatory in 1950?",
        "Who is the deputy director of the Sarn Observatory?",
        "Who discovered Pavel Ruud?",
        "When was Pavel Ruud discovered?",
        "When was the Sarn Observatory born?",
        "When did the village of Corl open?",
        "When did Corl open?",
        "How long is the Sarn Observatory?",
        "How old is the oldest house in Corl?",
        "Who opened the Sarn Observatory?",
        "Who built the Sarn Observatory?",
        "When was the Sarn Observatory built?",
        "When was the dome renewed?",
        "Who is the guard born in 1951?",
        "When was Mirela Toth born?",
        "How many visitors does Corl have?",
        "How many wheels does the Sarn Observatory have?",
        "Who held the plum fair?",
        "Who wrote Jon Petri?",
        "Where was Jon Petri written?",
        "When was the Sarn Observatory not opened?",
        "Where was the Sarn Observatory painted?",
        "Who supplies the baker of Corl with bread?",
        "When did Comet Vane die?",
        "When was the plum fair held?",
        "When did the plum fair draw 4,000 visitors?",
    ),
)

SHIPYARD = Shelf(
    pages={
        "Marlo Shipyard": (
            "Marlo Shipyard\n\nThe Marlo Shipyard builds wooden boats. It employs 85 carpenters. It was bought by Greta Holm in 1999. "
            "It is 340 metres long.\n\nThe first boat, named Teal, was launched in 1862 and sank in 1870. Teal carried 14 sailors. "
            "The yard burned down in 1904. The chief carpenter is Nils Aro.\n\nVisitors pay 7 crowns. Tours start at the east gate."
        ),
        "The Teal": (
            "The Teal was designed by Iver Lund. She was 22 metres long and 6 metres wide. Greta Holm, the granddaughter of Iver Lund, "
            "restored the figurehead in 2004. The captain of the Teal was Abel Stern. The bell was cast in Tova."
        ),
        "Tova": (
            "Tova lies on the river Ense. Tova has a foundry, which was built in 1790. It was planned to close in 2001. The Ense is 94 "
            "kilometres long. The foundry employs 12 people, the school 30 people. Karin Dahl rebuilt the chapel in 1888."
        ),
    },
    inside={
        "Who bought the Marlo Shipyard?": "Greta Holm",
        "When was the Marlo Shipyard bought?": "1999",
        "How many carpenters does the Marlo Shipyard employ?": "85 carpenters",
        "How long is the Marlo Shipyard?": "340 metres",
        "When was Teal launched?": "1862",
        "When did Teal sink?": "1870",
        "How many sailors did Teal carry?": "14 sailors",
        "Who designed the Teal?": "Iver Lund",
        "Who was the captain of the Teal?": "Abel Stern",
        "Who restored the figurehead?": "Greta Holm",
        "When did Greta Holm restore the figurehead?": "2004",
        "Where was the bell cast?": "Tova",
        "How long is the Ense?": "94",
        "How many people does the foundry employ?": "12 people",
        "Who rebuilt the chapel?": "Karin Dahl",
        "When did Karin Dahl rebuild the chapel?": "1888",
        "Who is the chief carpenter of the Marlo Shipyard?": "Nils Aro",
        "What does the Marlo Shipyard build?": "wooden boats",
        "Where does Tova lie?": "Ense",
    },
    outside=(
        "When was Greta Holm bought?",
        "When was Greta Holm restored?",
        "Who launched Teal?",
        "Who sank Teal?",
        "Who burned the Marlo Shipyard?",
        "When was the Marlo Shipyard launched?",
        "When was Iver Lund designed?",
        "Who designed Iver Lund?",
        "How many boats does the Marlo Shipyard build?",
        "How many boats were launched?",
        "How many boats were named Teal?",
        "How many carpenters does Tova employ?",
        "How many people does the school employ in Marlo?",
        "How wide is the Ense?",
        "How wide is the Marlo Shipyard?",
        "How long is the bell?",
        "How long is the river?",
        "How tall is the Teal?",
        "Who is the captain of Tova?",
        "Who is the granddaughter of Abel Stern?",
        "Who cast the bell?",
        "Who built the foundry?",
        "When did the foundry close?",
        "When was Tova built?",
        "When was the chapel built?",
        "When was Karin Dahl rebuilt?",
        "Who restored Greta Holm?",
        "Who employs 85 carpenters in Tova?",
        "Who is the carpenter of the Marlo Shipyard?",
        "How much do children pay?",
        "When was Tova burned?",
        "Where was the Teal cast?",
        "Where was the captain of the Teal launched?",
        "Who was the second captain of the Teal?",
        "Which boat sank in 1862?",
        "How many crowns does the Marlo Shipyard have?",
    ),
)
