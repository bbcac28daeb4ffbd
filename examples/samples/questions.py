"""Questions to the samples, as people would ask them, and the pages that answer them."""

from __future__ import annotations

import json
from pathlib import Path

REPORT = "annual-report.pdf"
SLIDES = "product-launch-slides.pdf"
ARTICLE = "tidal-energy-article.pdf"
FORM = "travel-expense-form.pdf"
LETTER = "landlord-letter-scan.tiff"
PLAN = "site-plan.png"

# Of each question the document, and for each page that answers it the words that do.
# The answers in the letter and the plan are pixels: they take a vision model, or OCR first.
QUESTIONS: tuple[tuple[str, str, dict[int, str]], ...] = (
    ("How many countries are Quillmere's customers in?", REPORT, {2: "41 countries"}),
    (
        "Why did customers have to wait so long for their calibrated instruments?",
        REPORT,
        {3: "The move of our calibration laboratory took eleven weeks"},
    ),
    (
        "What dividend per share is proposed for 2024?",
        REPORT,
        {3: "dividend of 28 cents a share", 4: "Dividend 0.20 0.22 0.28"},
    ),
    ("What were earnings per share in 2023?", REPORT, {4: "Earnings 0.52 0.56"}),
    (
        "In which part of the world did sales go down?",
        REPORT,
        {3: "Southern Europe shrank", 5: "Southern Europe lost another 1.2 million"},
    ),
    (
        "How much did the company spend on research in each of the last three years?",
        REPORT,
        {6: "24.9"},
    ),
    (
        "electricity and heating bill of the factory",
        REPORT,
        {6: "2.1 million euros for electricity"},
    ),
    ("In what year did the number of employees shrink?", REPORT, {7: "Only in 2020"}),
    (
        "What happens if the supplier of sapphire windows cannot deliver?",
        REPORT,
        {8: "would halt assembly"},
    ),
    ("How much profit would a weaker dollar cost?", REPORT, {8: "about 2.4 million euros"}),
    (
        "cash left at the end of 2024",
        REPORT,
        {4: "Cash 26.0 31.3 33.3", 9: "Cash at the end of the year 31.3 33.3"},
    ),
    (
        "What was paid for Saltmarsh Analytics and how much of that is goodwill?",
        REPORT,
        {10: "4.1 million of this is goodwill"},
    ),
    ("Which loan has the highest interest rate?", REPORT, {11: "General purposes 4.2%"}),
    ("Is anyone suing the company?", REPORT, {11: "A former distributor claims"}),
    (
        "When does the new nitrate sensor come to market?",
        REPORT,
        {12: "goes on sale in September"},
    ),
    ("What does turbidity mean?", REPORT, {13: "Cloudiness of water"}),
    ("How long do van drivers search for somewhere to park?", SLIDES, {2: "41 minutes"}),
    (
        "How far does the cargo bike go on a full battery?",
        SLIDES,
        {3: "120 km on one charge", 5: "Range 120 km"},
    ),
    (
        "Compare the payload of the new bike, the old one and a van",
        SLIDES,
        {5: "Payload 200 kg 150 kg 650 kg"},
    ),
    ("What does it cost to lease the cargo bike?", SLIDES, {8: "€149 a month"}),
    ("In which month will the Haulier 2 be launched?", SLIDES, {7: "June"}),
    (
        "How big is the tidal turbine and how deep is the water at the site?",
        ARTICLE,
        {1: "34 to 41 m deep"},
    ),
    (
        "Do waves make the wake behind the turbine shorter?",
        ARTICLE,
        {3: "changed the recovery length by less than its uncertainty"},
    ),
    (
        "How much energy is lost if rows stand eight diameters apart?",
        ARTICLE,
        {4: "Eight diameters lose 16"},
    ),
    (
        "How do the measured wakes compare with towing tank and simulation results?",
        ARTICLE,
        {4: "Table 3 sets our recovery lengths beside those of others"},
    ),
    ("What did Dr Achterberg pay for the guest house?", FORM, {1: "237.00"}),
    (
        "How many kilometres were driven with a private car on the field trip?",
        FORM,
        {2: "148 km"},
    ),
    ("How much will the rent be from May on?", LETTER, {1: "775 euros a month"}),
    (
        "On which days will there be no heating because of the new heat pump?",
        LETTER,
        {1: "between 10 and 14 March"},
    ),
    ("Whom do I call when a pipe bursts at night?", LETTER, {2: "plumber on 0555 0190"}),
    (
        "Where do people gather in an emergency in the community garden?",
        PLAN,
        {1: "green flag by Gate B"},
    ),
    ("When are the garden's water taps turned off?", PLAN, {1: "15 November to 15 March"}),
)


def write(folder: Path) -> None:
    queries: list[dict[str, str | int]] = []
    labels: list[dict[str, str | int]] = []
    for number, (text, document, pages) in enumerate(QUESTIONS, 1):
        query = f"s-{number:02}"
        queries.append({"query_id": query, "text": text})
        labels += [
            {"query_id": query, "doc": document, "page": page, "relevance": 1} for page in pages
        ]
    _write_lines(folder / "queries.jsonl", queries)
    _write_lines(folder / "qrels.jsonl", labels)


def _write_lines(path: Path, rows: list[dict[str, str | int]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_bytes(text.encode())
