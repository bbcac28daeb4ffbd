"""What the annual report says. Amounts are in millions of euros and add up."""

from __future__ import annotations

COMPANY = "Quillmere Instruments"
YEARS = ("2022", "2023", "2024")

SECTIONS = (
    ("Quillmere at a glance", 2),
    ("Letter to shareholders", 3),
    ("Key figures", 4),
    ("Revenue by region", 5),
    ("Costs", 6),
    ("People", 7),
    ("Risks", 8),
    ("Cash flow", 9),
    ("Notes to the accounts", 10),
    ("Outlook", 12),
    ("Glossary", 13),
)

GLANCE = (
    "Quillmere Instruments makes the sensors that tell people whether water is safe: probes for "
    "rivers and reservoirs, buoys for harbours and lakes, and analysers for the control rooms of "
    "waterworks. Some 2,300 utilities, ports and research stations in 41 countries rely on them.",
    "We develop and assemble in Orrevik, calibrate in Orrevik and Port Almery, and repair close to "
    "our customers in seven service workshops. What we sell lasts: the average probe in the field "
    "is nine years old.",
)
BIG_NUMBERS = (
    ("€224.0m", "revenue, up 11.7 percent"),
    ("14.5%", "operating margin"),
    ("1,058", "people at year end"),
)

LETTER = (
    "Dear shareholders,",
    "2024 was the year in which measuring water stopped being an afterthought. New rules on "
    "micropollutants made utilities look again at what they can see and what they cannot, and "
    "many of them found that the answer was one of our analysers. Revenue grew to 224.0 million "
    "euros, and more than a quarter of it now comes from North America.",
    "Not everything went well. Southern Europe shrank for the second year running, because two "
    "large tenders were postponed until after the elections there. The move of our calibration "
    "laboratory took eleven weeks instead of six, and some of you who are also customers waited "
    "too long for instruments to come back. We have apologised to them, and we have since brought "
    "the waiting time down to eight working days.",
    "In May we bought Saltmarsh Analytics, a team of nineteen who write software that finds the "
    "source of a pollution event from the readings of a handful of buoys. It is our first purchase "
    "in a decade, and it was not made lightly. By December their software was running in three "
    "ports.",
    "The board proposes a dividend of 28 cents a share, six cents more than last year. That is "
    "40 percent of earnings, as our policy says. The rest stays in the company, above all for the "
    "second production hall in Orrevik, which opens in the autumn of 2025.",
    "I thank all who build, sell, repair and explain our instruments, and you for your patience "
    "and your trust.",
)
SIGNATURE = ("Ingrid Vasselbrook", "Chief Executive, Quillmere Instruments")

KEY_FIGURES = (
    ("Income", "", "", ""),
    ("Revenue", "181.0", "200.5", "224.0"),
    ("Operating costs", "(156.0)", "(173.5)", "(191.6)"),
    ("*Operating profit", "25.0", "27.0", "32.4"),
    ("Net interest", "(2.1)", "(2.3)", "(1.9)"),
    ("Tax", "(5.2)", "(5.6)", "(6.7)"),
    ("*Net profit", "17.7", "19.1", "23.8"),
    ("Balance sheet", "", "", ""),
    ("Equity", "106.1", "118.4", "134.7"),
    ("Loans", "42.0", "38.0", "42.0"),
    ("Cash", "26.0", "31.3", "33.3"),
    ("*Net debt", "16.0", "6.7", "8.7"),
    ("Per share (34.0 million shares), in euros", "", "", ""),
    ("Earnings", "0.52", "0.56", "0.70"),
    ("Dividend", "0.20", "0.22", "0.28"),
    ("Ratios", "", "", ""),
    ("Operating margin", "13.8%", "13.5%", "14.5%"),
    ("Research as a share of revenue", "9.0%", "9.8%", "11.1%"),
)
KEY_FIGURES_NOTE = (
    "Amounts in millions of euros unless stated otherwise. The dividend for 2024 is the board's "
    "proposal to the general meeting. Figures for 2022 are as published at the time."
)

REGIONS = ("Northern Europe", "Southern Europe", "North America", "Asia-Pacific", "Elsewhere")
REVENUE = {
    "2022": (61.2, 38.5, 44.0, 27.6, 9.7),
    "2023": (66.8, 37.1, 52.3, 33.9, 10.4),
    "2024": (71.4, 35.9, 63.7, 41.5, 11.5),
}
REVENUE_TEXT = (
    "Four of our five regions grew. North America added 11.4 million euros, half of the group's "
    "growth, after three state utilities chose the Argo analyser as their standard. Asia-Pacific "
    "grew fastest, by 22 percent, mostly with harbour buoys.",
    "Southern Europe lost another 1.2 million. Two tenders worth some 5 million euros together "
    "were put off; we expect both to be decided in the second half of 2025. Service contracts in "
    "the region held up, and no customer of note was lost.",
    "Service and spare parts made up 29 percent of revenue in all regions together, two points "
    "more than the year before.",
)

COSTS = {
    "Materials": (62.4, 68.9, 74.2),
    "Staff": (54.1, 59.8, 65.3),
    "Research": (16.3, 19.6, 24.9),
    "Freight and sales": (14.2, 15.5, 16.8),
    "Depreciation": (9.0, 9.7, 10.4),
}
COSTS_TEXT = (
    "Operating costs rose by 10.4 percent, a little less than revenue. Materials became cheaper "
    "relative to sales, because the new probe housing is moulded from one piece and needs neither "
    "screws nor a second seal.",
    "Research grew most, by 27 percent, to 24.9 million euros. A third of it went into optical "
    "nitrate sensing, which does without reagents; the first instruments are with test customers.",
    "Energy is included under materials. We paid 2.1 million euros for electricity and heat, after "
    "2.6 million in 2023; the solar roof in Orrevik supplied a fifth of what we used.",
)

HEADCOUNT_YEARS = ("2018", "2019", "2020", "2021", "2022", "2023", "2024")
HEADCOUNT = (742, 801, 788, 846, 903, 967, 1058)
FUNCTIONS = (
    ("Production and calibration", "412", "39%"),
    ("Sales and service", "268", "25%"),
    ("Research and development", "231", "22%"),
    ("Administration", "147", "14%"),
    ("*Together", "1,058", "100%"),
)
PEOPLE_TEXT = (
    "We passed a thousand colleagues in March. Of the 91 who joined on balance, 19 came with "
    "Saltmarsh Analytics and 38 work in research. Only in 2020, when fairs and site visits "
    "stopped, did we end a year with fewer people than before.",
    "6.2 percent of our staff left of their own accord, after 7.9 percent in 2023. Women hold "
    "34 percent of managing positions; our aim for 2027 is 40 percent. There were 3 accidents "
    "with lost working time, two of them in the warehouse.",
)

RISKS_TEXT = (
    "Twice a year the board reviews what could go wrong. These are the risks it rates highest."
)
RISKS = (
    (
        "A single source for optical windows",
        "High",
        "Sapphire windows for all optical probes come from one supplier. A stoppage of more than "
        "ten weeks would halt assembly. We hold fourteen weeks of stock and are qualifying a "
        "second source, which should deliver from the middle of 2025.",
    ),
    (
        "Public tenders",
        "Medium",
        "About 60 percent of revenue depends on public budgets. Elections and austerity delay "
        "orders, as they did in Southern Europe. Service contracts of five years soften the blow.",
    ),
    (
        "Exchange rates",
        "Medium",
        "28 percent of revenue is billed in dollars. A dollar weaker by ten percent would cost "
        "about 2.4 million euros of operating profit; we hedge half of the next twelve months.",
    ),
    (
        "Attacks on connected instruments",
        "Medium",
        "Buoys and analysers report over public networks. An intruder could falsify readings. "
        "Since 2023 every instrument signs its messages, and an outside firm tests us twice a "
        "year.",
    ),
    (
        "Skilled people in Orrevik",
        "Low",
        "Calibration technicians are scarce in a town of 30,000. We train sixteen apprentices a "
        "year, twice as many as in 2021, and eleven of this year's twelve graduates stayed.",
    ),
)

CASH_FLOW = (
    ("Operating activities", "", ""),
    ("Net profit", "19.1", "23.8"),
    ("Depreciation", "9.7", "10.4"),
    ("Change in working capital", "(2.2)", "(5.6)"),
    ("Other items without payment", "0.4", "0.7"),
    ("*Cash from operations", "27.0", "29.3"),
    ("Investing activities", "", ""),
    ("Buildings and equipment", "(11.2)", "(17.9)"),
    ("Purchase of Saltmarsh Analytics", "0.0", "(6.5)"),
    ("Sale of equipment", "0.3", "0.6"),
    ("*Cash used for investing", "(10.9)", "(23.8)"),
    ("Financing activities", "", ""),
    ("Dividend paid for the year before", "(6.8)", "(7.5)"),
    ("Loans taken up", "0.0", "8.0"),
    ("Loans repaid", "(4.0)", "(4.0)"),
    ("*Cash used for financing", "(10.8)", "(3.5)"),
    ("*Change in cash", "5.3", "2.0"),
    ("Cash at the beginning of the year", "26.0", "31.3"),
    ("*Cash at the end of the year", "31.3", "33.3"),
)
CASH_FLOW_TEXT = (
    "Cash from operations rose to 29.3 million euros although stocks grew: we carry more sapphire "
    "windows than we used to (see Risks). After buildings and equipment, 11.4 million remained, "
    "4.4 million less than in 2023; the second hall in Orrevik accounts for the difference."
)

NOTES = (
    (
        "1  How the accounts are drawn up",
        "The accounts cover the calendar year and include all companies in which Quillmere holds "
        "more than half of the votes. Revenue is recognised when an instrument leaves our works, "
        "and for service contracts evenly over their term.",
    ),
    (
        "2  Purchase of Saltmarsh Analytics",
        "On 14 May 2024 the group acquired all shares for 6.5 million euros in cash. 4.1 million "
        "of this is goodwill, 1.8 million software, written off over six years, and 0.6 million "
        "other assets. A further 1.5 million is due in 2026 if twelve ports use the software.",
    ),
    (
        "3  Depreciation",
        "Buildings are written off over 33 years, machines over eight to twelve, vehicles over "
        "five and computers over three. Land is not written off.",
    ),
    (
        "4  Stocks",
        "Stocks are valued at cost or market value, whichever is lower. Materials amounted to "
        "21.7 million euros (2023: 17.4), unfinished instruments to 6.3 (6.0) and finished ones to "
        "9.8 (9.1).",
    ),
    (
        "5  Guarantees",
        "Instruments carry a guarantee of three years. 1.9 million euros are set aside for it "
        "(2023: 1.6), which is 0.85 percent of revenue. Claims in 2024 came to 1.2 million.",
    ),
    (
        "6  Pensions",
        "All plans are defined contribution plans; the group owes no more than the contributions "
        "of the year, which were 3.4 million euros (2023: 3.1).",
    ),
)
LOANS = (
    ("Hall I, Orrevik", "2.9%", "2029", "14.0"),
    ("Hall II, Orrevik", "3.8%", "2034", "8.0"),
    ("Calibration laboratory", "3.1%", "2031", "12.0"),
    ("General purposes", "4.2%", "2027", "8.0"),
    ("*Together", "", "", "42.0"),
)
LOANS_TEXT = (
    "7  Loans",
    "All loans are in euros at fixed rates. The loan for the second hall was taken up in "
    "September 2024; no repayment is due on it before 2026. Net debt must not exceed two and a "
    "half times operating profit before depreciation; at year end it stood at 0.2 times.",
)
LATE_NOTES = (
    (
        "8  Pay of the board",
        "The four executive directors received 2.3 million euros together, of which 0.9 million "
        "depended on results. The seven members of the supervisory board received 0.4 million.",
    ),
    (
        "9  Auditor",
        "Hartwell Pryce & Dunmore audited the accounts for the third year. Their fee was 310,000 "
        "euros; a further 25,000 was paid for advice on the purchase of Saltmarsh Analytics.",
    ),
    (
        "10  Lawsuits",
        "A former distributor claims 1.1 million euros for the end of its contract in 2022. The "
        "court of first instance dismissed the claim in October; an appeal is pending. Nothing "
        "has been set aside.",
    ),
    (
        "11  Events after the end of the year",
        "On 20 January 2025 a storm damaged the scaffolding of the second hall. Nobody was hurt; "
        "the insurer covers the damage, and the opening is not delayed.",
    ),
)

OUTLOOK = (
    "We expect revenue between 240 and 248 million euros in 2025 and an operating margin of about "
    "14 percent, slightly less than this year's, because the second hall costs money before it "
    "earns any. North America should contribute most of the growth once more.",
    "The first reagent-free nitrate sensor, known inside the house as Kestrel, goes on sale in "
    "September. We plan to sell 900 in its first twelve months, mainly to farming regions where "
    "nitrate limits were tightened.",
)
TARGETS = (
    ("Revenue", "€224.0m", "€240–248m", "€300m"),
    ("Operating margin", "14.5%", "about 14%", "16%"),
    ("Research share of revenue", "11.1%", "11%", "10–12%"),
    ("Service share of revenue", "29%", "30%", "35%"),
    ("Repair turnaround, working days", "8", "7", "5"),
    ("Carbon per instrument, kg", "46", "42", "30"),
)
CALENDAR = (
    ("24 April 2025", "General meeting, Orrevik town hall"),
    ("29 April 2025", "Dividend paid"),
    ("15 August 2025", "Half-year report"),
    ("11 October 2025", "Second hall opens, doors open to neighbours"),
)

GLOSSARY = (
    ("Analyser", "An instrument that draws in water and measures it in a closed chamber."),
    ("Argo", "Our analyser for waterworks, sold since 2019."),
    ("Calibration", "Comparing an instrument with a known standard and correcting it."),
    ("Drift", "The slow change of a sensor's readings although the water stays the same."),
    ("Free cash flow", "Cash from operations less spending on buildings and equipment."),
    ("Fouling", "Growth of algae or shells on a sensor, the main reason for cleaning it."),
    ("Goodwill", "What was paid for a company beyond the value of what it owns."),
    ("Micropollutant", "A substance that does harm in amounts of a millionth of a gram a litre."),
    ("Net debt", "Loans less cash."),
    ("Operating margin", "Operating profit divided by revenue."),
    ("Probe", "A sensor that hangs or is mounted in the water itself."),
    ("Reagent", "A chemical that is used up in a measurement and has to be refilled."),
    ("Turbidity", "Cloudiness of water, measured by the light that particles scatter."),
    ("Working capital", "Stocks and unpaid invoices to customers less those from suppliers."),
)
CONTACT = (
    "Investor relations: 3 Lockkeeper's Row, Orrevik. Printed on paper from managed forests. "
    "This report appears in English only."
)
