"""What the article says. The strait, the turbines, the authors and all references are invented."""

from __future__ import annotations

TITLE = "How far apart? Wake recovery behind tidal turbines in a narrow strait"
AUTHORS = "Astrid Lindqvar, Matteo Osterfell and Tamsin Brannoch"
PLACE = "Skerra Marine Laboratory, Port Almery"
JOURNAL = "Annals of Coastal Energy  12 (3), 201–205"

ABSTRACT = (
    "Turbines in a tidal stream leave slower, rougher water behind them, and a second row that "
    "stands in this wake earns less. We measured the flow behind a turbine of 18 m diameter in "
    "Skerra Sound over 29 days with eleven current profilers. On average the speed had recovered "
    "to 90 percent of the undisturbed flow after 11.5 diameters at spring tide and after "
    "14.2 diameters at neap tide. Rough ground upstream shortened the wake by about a fifth. For "
    "an array of three rows we find that a spacing of twelve diameters yields 93 percent of the "
    "energy that free-standing turbines would, while closer rows save cable but lose more than "
    "they save."
)

# A section is a heading and its paragraphs; FIGURE_2, TABLE_1 … stand where they are first named.
SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        "1  Introduction",
        (
            "The tide is the most punctual of all sources of energy. Its times are known "
            "for centuries ahead, and in a few straits it runs fast enough to turn machines "
            "economically. Such straits are narrow, and the fast water within them is narrower "
            "still. Whoever wants to build more than a handful of turbines must place them behind "
            "each other.",
            "Behind a turbine the water is slower, because energy has been taken out of it, and "
            "more turbulent. It recovers as it mixes with the faster water beside and above. How "
            "quickly it does so decides how close the next row can stand. For wind turbines this "
            "question has been studied for decades [1, 2]. Results cannot simply be carried over: "
            "a tidal stream has a surface above it and a bed below, both within one or two rotor "
            "diameters, and it turns round every six hours.",
            "Experiments in flumes give recovery lengths between eight and twenty diameters "
            "[3, 4], and simulations disagree just as widely, depending on how turbulence is "
            "treated [5]. Measurements at full scale are rare. Those we know of lasted a few tides "
            "[6] or had a single instrument in the wake [7].",
            "In this article we report on a full lunar month of measurements behind a working "
            "turbine. We ask three things: how long the wake is, what makes it longer or shorter, "
            "and what follows for the spacing of rows.",
        ),
    ),
    (
        "2  Site and instruments",
        (
            "Skerra Sound separates two islands and is 1.9 km wide and 34 to 41 m deep in its "
            "middle. At spring tide the stream reaches 3.6 m/s on the flood and 3.1 m/s on the "
            "ebb. The bed is bare rock in the north, with ridges up to 2.5 m high, and gravel in "
            "the south. Flood water thus arrives over smooth ground and ebb water over rough, "
            "which makes the place a natural experiment.",
            "A three-bladed turbine of 18 m diameter with a rated power of 1.2 MW has stood there "
            "since the summer before our campaign. Its hub is 19 m above the bed. It turns "
            "into the stream at slack water and starts at 0.8 m/s.",
            "We laid eleven acoustic profilers on the bed: one abreast of the rotor and 150 m "
            "away, in undisturbed water, as a reference, and five along the axis of the stream on "
            "each side of it, at 2, 4, 8, 12 and 16 diameters. Each recorded the speed in layers "
            "of 1 m, twice a second, from 3 to 31 March. The instrument at 16 diameters on the "
            "northern side was dragged away by a lost fishing net on the ninth day and was not "
            "replaced. Table 1 gives the settings, and Figure 1 shows where the instruments lay.",
            "FIGURE_1",
            "TABLE_1",
        ),
    ),
    (
        "3  Method",
        (
            "All speeds are averages over ten minutes and over the height of the rotor, from 10 to "
            "28 m above the bed. We discard intervals in which the reference speed is below "
            "1.2 m/s or changes by more than a tenth, as well as those in which the turbine stood "
            "still. Of 4,176 intervals, 2,385 remain.",
            "The deficit is the difference between the reference speed and the speed at a "
            "position, divided by the reference speed. Because the stream also varies along the "
            "strait without a turbine, we subtract the difference that was measured between the "
            "same positions during 41 hours in which the rotor was stopped for maintenance. "
            "Without this step the wake would appear 1.3 diameters longer than it is.",
            "We call the wake recovered where the deficit falls below one tenth. Between the "
            "instruments we interpolate with a decaying exponential, whose two parameters are "
            "fitted to each group of intervals by least squares. Uncertainties are 95 percent "
            "intervals from a bootstrap over tides, not over intervals, since neighbouring "
            "intervals are anything but independent.",
            "Two checks were made before any of this. First, we compared neighbouring profilers at "
            "slack water, when all should read nearly zero; the largest difference was 1.4 cm/s. "
            "Second, we compared the power that the turbine delivered with the power "
            "expected from the reference speed. The two agree to within 3 percent from 1.5 m/s up "
            "to rated speed, which is reached at 2.7 m/s. Above it the blades are pitched, "
            "less energy is taken out, and the deficit is smaller for that reason alone. We keep "
            "these intervals, since they are part of every spring tide, but give them separately "
            "wherever they change the picture.",
            "Turbulence intensity is the standard deviation of the speed within an interval "
            "divided by its mean, corrected for the noise of the instrument, which we determined "
            "at slack water to be 3.1 cm/s.",
        ),
    ),
    (
        "4  Results",
        (
            "4.1  Length of the wake",
            "Figure 2 shows how the deficit decays. Two diameters behind the rotor the water is "
            "slower by 38 percent at spring tide and by 41 percent at neap tide. From there it "
            "decays steadily. The mark of one tenth is passed at 11.5 diameters (11.0 to 12.1) at "
            "spring tide and at 14.2 (13.3 to 15.4) at neap tide.",
            "The difference between springs and neaps is not explained by speed itself: among "
            "intervals of equal turbulence, fast and slow streams recover alike. Springs are "
            "simply rougher. Turbulence intensity upstream was 12.8 percent at springs and "
            "9.6 percent at neaps.",
            "FIGURE_2",
            "Above rated speed, in 312 of the intervals, the wake was shorter still: 9.8 "
            "diameters. Without them the value for spring tide would be 12.0 instead of 11.5.",
            "4.2  Rough and smooth ground",
            "Ebb water, which has crossed the ridges, carries half as much turbulence again as "
            "flood water of the same speed, and its wake is shorter: 10.4 diameters against 13.1, "
            "a reduction of 21 percent. The effect is strongest near the bed, so that the lower "
            "half of the wake fills first. Figure 3 compares the two directions.",
            "FIGURE_3",
            "4.3  Waves",
            "On four days a swell of more than 2 m ran into the strait. We had expected it to stir "
            "the wake. It did so in the upper 8 m of water only, well above the rotor, and changed "
            "the recovery length by less than its uncertainty.",
        ),
    ),
    (
        "5  Loads on a second row",
        (
            "A wake costs more than energy. Blades that pass through rough water bend to and fro, "
            "and it is bending that wears them out. We therefore looked at turbulence inside the "
            "wake as well. Four diameters behind the rotor its intensity was 21.5 percent, far "
            "above that of the free stream; at twelve diameters 14.9 percent remained, and at "
            "sixteen it could no longer be told from the surroundings.",
            "Strain gauges at the root of one blade of our turbine give an idea of what this "
            "means. Sorted by the turbulence of the arriving water, the range of bending moments "
            "grows in proportion to it: a stream of 15 percent wears a blade as much in "
            "seven years as one of 10 percent does in twenty. The exponent behind this estimate, "
            "2.6, is lower than the one used for wind turbines, probably because the gusts of a "
            "tidal stream are larger than the rotor and seize it as a whole.",
            "A second row at eight diameters would hence need stronger blades, not only a patient "
            "owner. At twelve diameters the blades of our machine, which were designed for "
            "16 percent, could be used unchanged.",
        ),
    ),
    (
        "6  What it means for an array",
        (
            "We now place two further rows behind the turbine and let each row see the deficit "
            "left by those before it, adding the squares of deficits as is customary [8]. The "
            "direction of the stream changes every six hours, so the first row of the flood is "
            "the last of the ebb. Table 2 gives the energy of a year as a share of what "
            "the same machines would earn standing free, together with the length of the cable "
            "between the first row and the last.",
            "TABLE_2",
            "Twelve diameters, here 216 m, keep the loss to 7 percent. Eight diameters lose 16. "
            "With cable at 410 euros a metre laid and energy at 19 cents a kilowatt-hour, the "
            "cable saved by moving from twelve to eight diameters is worth 59,000 euros once, "
            "whereas the energy lost is worth more than that in every single year. Beyond sixteen "
            "diameters hardly anything is gained.",
            "The layout matters as well as the distance. If the second row is shifted sideways by "
            "a diameter and a half, so that its rotors look through the gaps of the first, its "
            "loss at eight diameters falls to that of aligned rows at eleven. In Skerra Sound the "
            "fast water is too narrow for more than three machines abreast, and shifting the "
            "second row would push one of them into water that is slower by a sixth. Where "
            "a strait is wider, staggered rows are the better choice.",
            "It would be unwise to fix the spacing from the mean alone. At neaps, when the wake is "
            "longest, there is little energy to lose; weighting each interval by its power "
            "shortens the effective wake by 0.9 diameters. In straits with smooth ground on both "
            "sides, on the other hand, we would add two diameters to be safe.",
        ),
    ),
    (
        "7  Comparison with earlier work",
        (
            "Table 3 sets our recovery lengths beside those of others. Flume experiments with "
            "porous discs [4] give wakes half as long again as ours. Discs do not shed the swirl "
            "and the tip vortices that help a real wake to mix, and most flumes are smoother "
            "than any sea bed. The towing tank of Quist [3], in which the water stands still and "
            "has no turbulence at all, marks the far end of the range.",
            "TABLE_3",
            "Of the five turbulence models that Tarrigan compared [5], only two come within two "
            "diameters of our measurement, and both of them resolve large eddies. The models most "
            "used in practice, because they run overnight on an ordinary computer, predict wakes "
            "of 17 to 20 diameters. A developer who trusts them would space rows too far apart, "
            "which costs cable and room rather than energy.",
            "The single profiler of Wynnstead and Lindqvar [7] stood at ten diameters in a strait "
            "with gravel on both sides. Their deficit of 14 percent agrees with our value for "
            "the flood, which is 13.6 percent at the same distance. We take this as a sign that "
            "our numbers hold elsewhere, provided that the bed is alike.",
        ),
    ),
    (
        "8  Limits of this study",
        (
            "We looked at one turbine and computed three. Wakes that meet may mix faster than "
            "our sum of squares supposes, as turbulence made by the first row helps the second to "
            "recover. Our numbers for arrays are therefore rather too cautious than too bold. "
            "The instruments lay on one line; a wake that meanders sideways would pass beside "
            "them and look shorter than it is. From two profilers that were moved across the "
            "stream for three tides we estimate this error at less than half a diameter.",
            "A single month contains two springs and two neaps, but only one season. Kelp grows on "
            "the ridges from May onwards and may smooth the flow above them. We shall repeat the "
            "measurements in August.",
        ),
    ),
    (
        "9  Conclusions",
        (
            "Behind a full-scale turbine in Skerra Sound the stream regains 90 percent of its "
            "speed within 11.5 to 14.2 diameters. What matters is turbulence that comes from "
            "upstream, above all from the roughness of the bed; neither speed nor swell matters "
            "much by itself. Rows twelve diameters apart are a reasonable choice for "
            "this strait, and a survey of the bed is the cheapest way to find out whether they "
            "are for another.",
            "For those who plan an array we would put it in three sentences. Measure the "
            "turbulence of the free stream before anything else, in both directions. Space rows "
            "by the wake at springs, because that is when the energy comes. And design the blades "
            "of the second row for the water they will meet, which is not the water of the first.",
            "The ten-minute averages are kept by the laboratory and are sent to anyone who asks.",
        ),
    ),
)
CLOSING = (
    "Acknowledgements",
    "We thank the crew of the Guillemot, who recovered ten of eleven instruments in a rising "
    "south-westerly, and the harbour master of Port Almery for room on the quay. The work was paid "
    "for by the Almery Foundation for the Sea.",
)

TABLE_1_CAPTION = "Table 1. Settings of the current profilers."
TABLE_1_HEAD = ("Setting", "Value")
TABLE_1 = (
    ("Instruments", "11"),
    ("Frequency", "600 kHz"),
    ("Layer thickness", "1.0 m"),
    ("First layer above bed", "2.4 m"),
    ("Samples a second", "2"),
    ("Days recorded", "29"),
    ("Noise at slack water", "3.1 cm/s"),
)
TABLE_2_CAPTION = "Table 2. Yearly energy and cable for three rows, by distance between rows."
TABLE_2_HEAD = ("Diameters", "Metres", "Energy", "Cable")
TABLE_2 = (
    ("6", "108", "76%", "216 m"),
    ("8", "144", "84%", "288 m"),
    ("10", "180", "89%", "360 m"),
    ("12", "216", "93%", "432 m"),
    ("16", "288", "96%", "576 m"),
    ("20", "360", "97%", "720 m"),
)

TABLE_3_CAPTION = "Table 3. Distance to 90 percent of the free speed, in rotor diameters."
TABLE_3_HEAD = ("Study", "Kind", "Diameters")
TABLE_3 = (
    ("Quist [3]", "towing tank", "20"),
    ("Abernolt [4]", "flume, discs", "18"),
    ("Tarrigan [5]", "simulation", "12–20"),
    ("Osterfell [6]", "sea, 4 tides", "9–15"),
    ("This study, ebb", "sea, 29 days", "10.4"),
    ("This study, flood", "sea, 29 days", "13.1"),
)

FIGURE_1_CAPTION = (
    "Figure 1. Plan of the measurements, not to scale. Circles are current profilers, with their "
    "distance from the rotor in diameters; the cross marks the one that was lost."
)
DISTANCES = (2, 4, 8, 12, 16)
DEFICIT = {  # percent of the reference speed
    "spring tide": (38.0, 28.9, 16.9, 9.3, 5.5),
    "neap tide": (41.0, 33.0, 21.0, 12.9, 8.0),
}
FIGURE_2_CAPTION = (
    "Figure 2. Loss of speed behind the rotor by distance, at spring and neap tide. The dashed "
    "line marks one tenth, where we call the wake recovered."
)
RECOVERY = {"ebb, rough bed": 10.4, "flood, smooth bed": 13.1}  # diameters
FIGURE_3_CAPTION = (
    "Figure 3. Length of the wake in rotor diameters, for water that arrives over rough "
    "ground (ebb) and over smooth ground (flood)."
)

REFERENCES = (
    "Vantrell, O. (1998). Wakes of wind turbines over flat land. Review of Wind Studies 4, 12–39.",
    "Hesketh, D. and Marrow, P. (2006). Rows behind rows. Review of Wind Studies 12, 88–104.",
    "Quist, L. (2011). A towing tank study of rotor wakes. Flume Letters 7, 1–15.",
    "Abernolt, F. and Zeeman-Roux, C. (2014). Porous discs are not rotors. Flume Letters 10, "
    "140–152.",
    "Tarrigan, S. (2017). Five turbulence models, five wakes. Computing the Sea 3, 55–71.",
    "Osterfell, M. (2018). Four tides behind a turbine. Annals of Coastal Energy 6, 33–41.",
    "Wynnstead, G. and Lindqvar, A. (2020). A profiler in the wake. Annals of Coastal Energy 8, "
    "310–318.",
    "Kettlewell, R. (2003). On adding wakes. Review of Wind Studies 9, 201–209.",
)
